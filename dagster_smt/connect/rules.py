"""What a rule about a connector's option says, and the sentences that many rules share."""

from dataclasses import dataclass
from typing import Literal

OptionOutcome = Literal["used", "not needed", "changed", "not done"]
OUTCOMES: tuple[OptionOutcome, ...] = ("used", "changed", "not needed", "not done")


@dataclass(frozen=True)
class OptionVerdict:
    """One line of a report: an option and what becomes of it. It never holds the option's value, which may be a secret.

    Attributes:
        option: The option's name.
        verdict: ``used``; ``not needed``; ``changed``; or ``not done``, which makes the command fail.
        text: As what it is used, why it is not needed, how it changed, or what is missing.
    """

    option: str
    verdict: OptionOutcome
    text: str


@dataclass(frozen=True)
class Rule:
    """What becomes of an option. The first rule that fits decides.

    Attributes:
        option: Its name; with ``*`` at the end, what the name begins with.
        verdict: As in ``OptionVerdict``.
        text: As in ``OptionVerdict``.
        families: The families of sinks that it holds for; empty: all connectors.
        values: The values that it holds for, in lower case; empty: all values.
    """

    option: str
    verdict: OptionOutcome
    text: str
    families: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def fits(self, option: str, value: str, family: str) -> bool:
        """Whether it is about this option of a connector of that family."""
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
PACE = (
    "how much goes at once and how often: a run writes what is there, and micro_batch, a schedule or a sensor say when"
)
REPEAT = "how requests are repeated: a commit is made once or not at all"
KEYED = "rows are added for each record: none is replaced, merged or deleted by key"
LIST = "lists of fields are not read: all fields would come into the table; say it as a ReplaceField stage"
NULLS = "what becomes of null values is not as the connector does it: a Filter stage drops them, an append keeps them"
PARTS = "the table has no partitions of its own"
TABLES = "one component writes one table: import the connector once for each of them"
AUTO = "tables are made and get columns by themselves"
SHAPE = "how values become what the store holds; the table keeps the types of the records"
HEADERS = "headers come where the table declares a column for them"
TEXTS = "how texts stand in files; the table's files are Parquet"
METRICS = "the worker's own monitoring"
UNKNOWN = "it is unknown here what it does: look it up, say it in defs.yaml or the chain, and take it out of this file"
