"""Problems and errors: what went wrong, where, and what to do about it.

Codes: 0xx shape of a configuration, 1xx names and paths, 2xx types and schemas, 3xx stages and predicates,
4xx data of one record, 5xx tables, windows and sinks, 6xx environment, 9xx not supported, or a mistake in a class.
A code is never reused: ``docs/reference/problem-codes.md`` lists them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dagster_smt.visible import visible

CONFIG_EXCEPTION = "org.apache.kafka.common.config.ConfigException"
CONNECT_EXCEPTION = "org.apache.kafka.connect.errors.ConnectException"
DATA_EXCEPTION = "org.apache.kafka.connect.errors.DataException"
SCHEMA_BUILDER_EXCEPTION = "org.apache.kafka.connect.errors.SchemaBuilderException"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, told to the person who can mend it.

    Attributes:
        code: Stable identifier, ``SMT`` and three digits.
        place: Where, in the user's own spelling: file, alias, option, field.
        statement: What is wrong. Never quotes the value of a field.
        hint: What to do.
        connect_class: The exception class with which Kafka Connect refuses the same thing, if it is one of its own.
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
        """Return the same problem with ``place`` in front of what it names already."""
        return replace(self, place=f"{place} {self.place}".strip())


class SmtError(Exception):
    """Root of all errors of this package. Carries one or more problems.

    It never shows the error that it was raised for, whose message may quote values: see ``model/reports/causes.py``.
    """

    def __init__(self, problems: Iterable[Problem] | Problem):
        self.__suppress_context__ = True
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type["SmtError"], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class ConfigError(SmtError):
    """A chain, an option or a table specification is wrong; nothing was read."""


class PlanError(SmtError):
    """A chain does not fit the schema of the records."""


class DataError(SmtError):
    """One record cannot be transformed or converted. Carries exactly one problem."""

    @property
    def problem(self) -> Problem:
        return self.problems[0]


class TableError(SmtError):
    """A topic, window or sink cannot be used as asked; nothing was committed."""


class RecordsRejected(SmtError):
    """Records failed under ``errors.tolerance=none``; nothing was committed."""


class EngineError(SmtError):
    """Spark, the JVM or the file system failed. The same again may well succeed."""


class ClassError(SmtError):
    """A transform or predicate does what its class does not declare: for who writes one."""


class UnsupportedError(SmtError):
    """Known, but not supported here."""


def data_error(code: str, statement: str, hint: str = "", connect_class: str = DATA_EXCEPTION) -> DataError:
    """Make the error of one record; the evaluator adds the stage."""
    return DataError(Problem(code, "", statement, hint, connect_class))


_NOT_OF_A_RECORD = (MemoryError, ImportError, ConfigError, TableError, RecordsRejected, EngineError, ClassError)
"""What says something of a machine, a configuration, an engine or a class: no record is to blame for it."""


def problem_of_record(error: Exception) -> Problem:
    """What is wrong with a record, given any exception that was raised while it was read, evaluated or written.

    Of an exception that is none of ours only the class is said: its text may quote the record.

    Raises:
        Exception: ``error`` itself, if no record is to blame for it.
    """
    if isinstance(error, _NOT_OF_A_RECORD):
        raise error
    if isinstance(error, SmtError):
        return error.problems[0]
    return unprocessable(type(error).__name__)


def unprocessable(exception_class: str) -> Problem:
    """The problem of a record on which something raised an exception that nobody expects."""
    hint = "look at the dead letter; if no transform of your own raises the exception, please report it"
    return Problem("SMT430", "", f"the record cannot be processed: {exception_class}", hint)
