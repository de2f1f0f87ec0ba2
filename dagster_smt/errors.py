"""Defines problems and errors. A problem consists of a location, a statement and a remedy.

The first digit of a code shows the subject of the problem:

- 0xx: shape of a configuration
- 1xx: names and paths
- 2xx: types and schemas
- 3xx: stages and predicates
- 4xx: data of one record
- 5xx: tables, windows and sinks
- 6xx: environment
- 7xx: tables with keys, and privacy
- 8xx: maintenance of tables
- 9xx: features that are not supported, and mistakes in a class

A code is never reused. ``docs/reference/problem-codes.md`` lists all codes.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dagster_smt.visible import visible

CONFIG_EXCEPTION = "org.apache.kafka.common.config.ConfigException"
CONNECT_EXCEPTION = "org.apache.kafka.connect.errors.ConnectException"
DATA_EXCEPTION = "org.apache.kafka.connect.errors.DataException"
SCHEMA_BUILDER_EXCEPTION = "org.apache.kafka.connect.errors.SchemaBuilderException"


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, described for the person who can fix it.

    Attributes:
        code: Stable identifier, ``SMT`` and three digits.
        place: The location in the user's own spelling: file, alias, option, field.
        statement: The fault. Never quotes a field value.
        hint: The remedy.
        connect_class: The exception class that Kafka Connect raises for the same problem, if there is one.
    """

    code: str
    place: str
    statement: str
    hint: str = ""
    connect_class: str = ""

    def __str__(self) -> str:
        if self.place:
            head = f"{self.code} {self.place}: {self.statement}"
        else:
            head = f"{self.code} {self.statement}"
        if self.hint:
            return f"{visible(head)}\n  hint: {visible(self.hint)}"
        return visible(head)

    def at(self, place: str) -> "Problem":
        """Returns a copy of the problem with ``place`` in front of its location. For example, the location ``fields``
        becomes ``transforms.hide fields``.
        """
        return replace(self, place=f"{place} {self.place}".strip())


class SmtError(Exception):
    """The base class of all errors of this package. An error carries one or more problems.

    An error never shows its cause, because the message of the cause may quote values: see ``model/reports/causes.py``.
    """

    def __init__(self, problems: Iterable[Problem] | Problem):
        # even without `raise … from`, Python attaches the exception that is being handled (decision 20)
        self.__suppress_context__ = True
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type["SmtError"], tuple[tuple[Problem, ...]]]:
        # by default, pickle would call `__init__` with the text of the problems instead of the problems
        return type(self), (self.problems,)


class ConfigError(SmtError):
    """An error in a chain, an option or a table specification. It is raised before any record is read."""


class PlanError(SmtError):
    """The error of a chain that does not fit the schema of the records."""


class DataError(SmtError):
    """The error of a single record that cannot be transformed or converted. It has exactly one problem."""

    @property
    def problem(self) -> Problem:
        return self.problems[0]


class TableError(SmtError):
    """The error of a topic, window (range of offsets) or sink that cannot be used as requested. Nothing has been
    committed.
    """


class RecordsRejected(SmtError):
    """The error of a run with failed records, if the option ``errors.tolerance=none`` permits no failed record. The run
    has committed nothing.
    """


class EngineError(SmtError):
    """A failure of Spark, the JVM or the file system. A retry may succeed."""


class ClassError(SmtError):
    """The error of a transform or predicate class whose code does more than the class declares. For example, it reads
    the record's key, but the class declares only the value.
    """


class UnsupportedError(SmtError):
    """The error of a feature that Connect has but this package does not support."""


def data_error(code: str, statement: str, hint: str = "", connect_class: str = DATA_EXCEPTION) -> DataError:
    """Returns the error of one record, with a problem made from the arguments. The problem has no location yet; the
    evaluator adds the stage later.
    """
    return DataError(Problem(code, "", statement, hint, connect_class))


_NOT_OF_A_RECORD = (MemoryError, ImportError, ConfigError, TableError, RecordsRejected, EngineError, ClassError)
"""The classes of errors that are never caused by a single record. Their cause is the machine, the configuration, the
engine or a class.
"""


def problem_of_record(error: Exception) -> Problem:
    """Returns the problem of a record, for an ``error`` that was raised while the record was read, evaluated or
    written.

    If ``error`` is not an error of this package, the problem contains only the class of ``error``, because the message
    of ``error`` may quote the record.

    Raises:
        Exception: ``error`` itself, if no record has caused the error.
    """
    if isinstance(error, _NOT_OF_A_RECORD):
        raise error
    if isinstance(error, SmtError):
        return error.problems[0]
    return unprocessable(type(error).__name__)


def unprocessable(exception_class: str) -> Problem:
    """Returns the problem of a record for which code raised an unexpected exception. ``exception_class`` names the
    exception's class, such as ``KeyError``.
    """
    hint = "read the dead letter; if no transform of your own raises the exception, please report it"
    return Problem("SMT430", "", f"the record cannot be processed: {exception_class}", hint)


EXTRAS = {
    "pyspark": "spark", "py4j": "spark", "pyarrow": "spark", "pandas": "spark", "numpy": "spark",
    "confluent_kafka": "kafka",
    "openlineage": "lineage",
    "attrs": "registry", "authlib": "registry", "cachetools": "registry", "httpx2": "registry",
    "cryptography": "privacy",
    "tink": "csfle", "hkdf": "csfle",
    "presidio_analyzer": "presidio", "spacy": "presidio",
}  # fmt: skip
"""Maps the name of a module to the extra of this package that installs the module.

A code location can load its definitions without these modules.
"""


@contextmanager
def needs_extras() -> Iterator[None]:
    """A context manager for code that imports an optional module. If the import fails, the error names the extra to
    install: for ``pyspark``, the extra ``spark``.

    Raises:
        UnsupportedError: SMT650 if the block needs a module that is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        raise not_installed(module) from None


def not_installed(module: str) -> UnsupportedError:
    """Returns the error for work that needs ``module``. The module belongs to an extra that is not installed."""
    extra = EXTRAS[module]
    hint = f"pip install 'dagster_smt[{extra}]', or 'dagster_smt[all]', where runs execute"
    return UnsupportedError(Problem("SMT650", module, "the Python module is not installed here", hint))
