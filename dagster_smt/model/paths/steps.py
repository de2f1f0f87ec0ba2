"""The steps of a field path, and a reader for names in backticks. Both path syntaxes use this reader."""

from dataclasses import dataclass

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem


@dataclass(frozen=True, slots=True)
class Index:
    """A step to one element of an array. The number counts from 0, or from the end if it is negative."""

    number: int


@dataclass(frozen=True, slots=True)
class Every:
    """A step to every element of an array, every value of a map, or every field of a struct."""


@dataclass(frozen=True, slots=True)
class Deep:
    """A step over any number of levels, including none, through structs, arrays and maps."""


@dataclass(frozen=True, slots=True)
class Match:
    """A step to every field or key in whose name a regular expression (Java syntax) has a match."""

    pattern: str
    any_case: bool = False

    @property
    def java(self) -> str:
        """The regular expression as Java and Spark read it. If case is ignored, it begins with the flag ``(?i)``."""
        if self.any_case:
            return f"(?i){self.pattern}"
        return self.pattern


@dataclass(frozen=True, slots=True)
class OfType:
    """A step to every field, element or map value whose Connect type is ``type``. Values of a logical type, such as
    ``Timestamp``, do not match.
    """

    type: str


@dataclass(frozen=True, slots=True)
class OfLogical:
    """A step to every field, element or map value of a logical type. ``name`` is the short or full name of the type,
    such as ``Timestamp``.
    """

    name: str


Step = str | Index | Every | Deep | Match | OfType | OfLogical
"""A step of a path. A ``str`` is the name of a field or the key of a map."""


def quoted(text: str, start: int, ends: str = ".") -> tuple[str, int]:
    """Reads the step in backticks whose opening backtick is at ``start``. In ``` a.`b.c`.d ``` with the start 2, the
    step is ``b.c``.

    A backtick closes the step only at the end of the path, or before one of the characters ``ends``. If a backslash
    precedes the backtick, it does not close the step.

    Returns:
        The step without its backticks, and the position after its closing backtick.

    Raises:
        ConfigError: SMT101 if the step has no closing backtick.
    """
    step, at = "", start + 1
    while at < len(text):
        char, last = text[at], at == len(text) - 1
        if char != "`" or not (last or text[at + 1] in ends):
            step, at = step + char, at + 1
            continue
        escaped = text[at - 1] == "\\"
        if not escaped:
            return step, at + 1
        # as in Kafka's SingleFieldPath, an escaped backtick at the end closes nothing: "`a\`" is an incomplete pair
        if last:
            break
        step, at = step[:-1] + "`", at + 1  # a backslash that escapes a backtick is not part of the name
    raise ConfigError(
        Problem(
            "SMT101",
            "",
            f"incomplete backtick pair in path '{text}' at position {start}",
            "close the pair before a dot or the end, or put a backslash before a backtick that belongs to the name",
            CONFIG_EXCEPTION,
        )
    )
