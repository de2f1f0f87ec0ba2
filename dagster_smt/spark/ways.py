"""Lists all paths on which a run can process records, such as "records in the JVM" or "rows in Python".

A run takes the first path in ``WAYS`` whose condition is true (``spark.evaluate``). The report of the run names this
path. ``dagster-smt explain`` prints the possible paths before a run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dagster_smt.model.topics.format import SELF_DESCRIBED, Format


class Facts(Protocol):
    """The facts about a chain, its formats and its session that determine on which path a run processes records. Some
    of them may be None, because they are not known before the run.
    """

    @property
    def records_out(self) -> bool:
        """True if the sink holds records; False if it holds columns."""
        ...

    @property
    def arrays_as_rows(self) -> bool:
        """True if the elements of an array at the top of a value become rows."""
        ...

    @property
    def has_foreign(self) -> bool:
        """True if a stage of the chain runs from a jar."""
        ...

    @property
    def jvm_runs_kafkas_classes(self) -> bool | None:
        """True if every stage runs a Java class from a jar, and Spark's own JVM can run all these classes."""
        ...

    @property
    def names_schemas(self) -> bool:
        """True if the records contain or name their schemas: they are envelopes, or their schemas are in a schema
        registry.
        """
        ...

    @property
    def lane_runs_chain(self) -> bool | None:
        """True if the JVM lane, the Java evaluator inside Spark, can run the whole chain on JSON records without a
        schema.
        """
        ...

    @property
    def lane_parses(self) -> bool | None:
        """True if the JVM lane, the Java code inside Spark, can read keys and values whose schemas are known before the
        run.
        """
        ...

    @property
    def spark_reads_schemas(self) -> bool | None:
        """True if Spark can read each schema that the records name."""
        ...


@dataclass(frozen=True)
class Way:
    """A path that the records of a run can take, such as "records in the JVM".

    Attributes:
        name: The name of the path in reports and messages.
        when: The condition of the path, in words. All earlier paths in ``WAYS`` take precedence.
        why: The reason why a run takes this path, in words.
        takes: The condition as a function of the facts: True, False, or None if a fact that it needs is not known.
    """

    name: str
    when: str
    why: str
    takes: Callable[[Facts], bool | None]


RECORDS_IN_JVM = Way(
    "records in the JVM",
    "The sink holds records, the values are JSON without a schema, and every stage can be written as a program "
    "for the JVM lane (Java code inside Spark).",
    "Java runs the chain on the bytes of a record, without a copy to Python. Records that the lane cannot handle "
    "go to Python.",
    lambda facts: facts.records_out and facts.lane_runs_chain,
)
RECORDS_IN_KAFKAS_CLASSES = Way(
    "records in Kafka's classes",
    "The sink holds records. Every stage is one of Kafka's own classes, or `stage.process` is `spark`. Spark runs"
    " on this machine.",
    "Spark's JVM calls Kafka's converters and the classes of the stages. Records that a converter rejects go to "
    "Python.",
    lambda facts: facts.records_out and facts.jvm_runs_kafkas_classes,
)
RECORDS_IN_PYTHON = Way(
    "records in Python",
    "The sink holds records, and no earlier path of the table applies.",
    "The Python evaluator (Python code that runs the chain) can run every chain on every format.",
    lambda facts: facts.records_out,
)
ROWS_AFTER_FOREIGN = Way(
    "rows after foreign stages",
    "A stage runs a Java class from a jar.",
    "The schema after such a stage is known only from its results. The Python evaluator (Python code that runs "
    "the chain) turns each result into a row.",
    lambda facts: facts.has_foreign,
)
ROWS_OF_ARRAYS = Way(
    "columns of arrays",
    "The topic table requests one row for each element of an array.",
    "Python splits the arrays. After that, each object is a value with the declared schema.",
    lambda facts: facts.arrays_as_rows,
)
COLUMNS_IN_JVM = Way(
    "columns parsed in the JVM",
    "The schemas are declared, and the JVM lane knows their types.",
    "JSON strings become columns without a copy to Python. Spark runs the stages. Strings that the lane cannot "
    "handle go to Python.",
    lambda facts: not facts.names_schemas and facts.lane_parses,
)
COLUMNS_IN_PYTHON = Way(
    "columns parsed in Python",
    "The schemas are declared, and no earlier path of the table applies.",
    "Python parses keys and values with a declared schema into Arrow columns, and Spark runs the stages.",
    lambda facts: not facts.names_schemas,
)
COLUMNS_BY_SCHEMA = Way(
    "columns by schema",
    "The records name or contain only a few schemas, and Spark reads each of these schemas as Connect does.",
    "The records of one schema become columns as if that schema were declared.",
    lambda facts: facts.spark_reads_schemas,
)
ROWS_IN_PYTHON = Way(
    "rows in Python",
    "The records name or contain their schemas, and no earlier path of the table applies.",
    "The Python evaluator (Python code that runs the chain) reads each record with its own schema, and turns the "
    "result into a row.",
    lambda facts: True,
)

WAYS = (
    RECORDS_IN_JVM,
    RECORDS_IN_KAFKAS_CLASSES,
    RECORDS_IN_PYTHON,
    ROWS_AFTER_FOREIGN,
    ROWS_OF_ARRAYS,
    COLUMNS_IN_JVM,
    COLUMNS_IN_PYTHON,
    COLUMNS_BY_SCHEMA,
    ROWS_IN_PYTHON,
)


def way_of(facts: Facts) -> Way:
    """Returns the path on which a run with ``facts`` processes its records: the first path in ``WAYS`` whose condition
    is true. All facts that the conditions need must be known (not None).
    """
    return next(way for way in WAYS if way.takes(facts))


def possible_ways(facts: Facts) -> list[Way]:
    """Returns the paths that a run may take, the preferred path first. If a fact is None (not known yet), more than one
    path may be possible.
    """
    ways = []
    for way in WAYS:
        # None counts as possible: the fact is not known yet
        taken = way.takes(facts)
        if taken is not False:
            ways.append(way)
        if taken:
            break
    return ways


@dataclass(frozen=True)
class PlannedFacts:
    """The facts about a run that are known without a Spark session and without records.

    Attributes:
        records_out: True if the sink holds records; False if it holds columns.
        value: The format of the values.
        lane_runs_chain: True if the JVM lane, the Java evaluator inside Spark, can run the chain.
        lane_parses: False if the JVM lane cannot parse the values; None if the answer needs the session.
        has_foreign: True if a stage is a Java class from a jar.
        jvm_runs_kafkas_classes: False if such a class needs its own Java process; None if the answer needs the session.
    """

    records_out: bool
    value: Format
    lane_runs_chain: bool | None = None
    lane_parses: bool | None = None
    has_foreign: bool = False
    jvm_runs_kafkas_classes: bool | None = False

    @property
    def arrays_as_rows(self) -> bool:
        return self.value.arrays_as_rows

    @property
    def names_schemas(self) -> bool:
        return self.value.kind in SELF_DESCRIBED

    @property
    def spark_reads_schemas(self) -> bool | None:
        """None, because this fact depends on the records."""
        return None
