"""Rules about options of connectors, and the sentences that many rules share."""

from dataclasses import dataclass
from typing import Literal

OptionOutcome = Literal["used", "not needed", "changed", "not done"]
OUTCOMES: tuple[OptionOutcome, ...] = ("used", "changed", "not needed", "not done")


@dataclass(frozen=True)
class OptionVerdict:
    """The verdict on an option: one line of a report. It never has the option's value, which may be a secret.

    Attributes:
        option: The option's name.
        verdict: ``used``; ``not needed``; ``changed``; or ``not done``, which makes the command fail.
        text: The setting that the option becomes, or the reason, the change or the missing part.
    """

    option: str
    verdict: OptionOutcome
    text: str


@dataclass(frozen=True)
class OptionRule:
    """The verdict for an option of some connectors. The first rule that fits decides.

    Attributes:
        option: The name of the option; with ``*`` at the end, the start of the name.
        verdict: As in ``OptionVerdict``.
        text: As in ``OptionVerdict``.
        families: The families of connectors; empty: all.
        values: The values of the option, in lower case; empty: all.
    """

    option: str
    verdict: OptionOutcome
    text: str
    families: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def fits(self, option: str, value: str, family: str) -> bool:
        """Returns True if the rule is for this option of a connector of that family."""
        if self.families and family not in self.families:
            return False
        if self.values and value.strip().lower() not in self.values:
            return False
        if self.option.endswith("*"):
            return option.startswith(self.option[:-1])
        return option == self.option


JDBC, FILES, SEARCH, ICEBERG, DELTA = ("jdbc",), ("files",), ("search",), ("iceberg",), ("delta",)
SNOWFLAKE, BIGQUERY, MONGO, HTTP, LOCAL = ("snowflake",), ("bigquery",), ("mongo",), ("http",), ("local file",)
SOURCE = ("source",)

TRUE, FALSE = ("true",), ("false",)
LOGIN = (
    "the login of the connector's own clients: the component's is in table.source.kafka.options, secrets as ${env:NAME}"
)
STORE = "the connection to the store that the table takes the place of"
PACE = "the size and time of writes: a run writes all new records; micro_batch, a schedule or a sensor decide when"
REPEAT = "how requests are repeated: a commit is made once or not at all"
KEYED = "rows are added for each record: none is replaced, merged or deleted by key (mode: upsert of the sink does it)"
LIST = "lists of fields are not read: all fields would come into the table; say it as a ReplaceField stage"
NULLS = "what becomes of null values is not as the connector does it: a Filter stage drops them, an append keeps them"
PARTS = "the table has no partitions of its own"
TABLES = "one component writes one table: import the connector once for each of them"
AUTO = "tables are made and get columns by themselves"
SHAPE = "how values become what the store holds; the table keeps the types of the records"
HEADERS = "headers come where the table declares a column for them"
TEXTS = "the format of text files; the table's files are Parquet"
METRICS = "the worker's own monitoring"
UNKNOWN = "it is unknown here what it does: look it up, say it in defs.yaml or the chain, and take it out of this file"
