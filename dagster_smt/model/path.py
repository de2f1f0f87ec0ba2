"""Field paths, read exactly as Kafka's ``SingleFieldPath`` does (KIP-821, class ``SyntaxVersion``).

V1: the whole text is one field name, dots included. V2: dots separate steps, backticks protect dots.
"""

from dataclasses import dataclass

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem

V1, V2 = "V1", "V2"


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path to one field.

    Attributes:
        text: As the user wrote it.
        steps: Field names from the top of the key or value.
    """

    text: str
    steps: tuple[str, ...]

    @property
    def leaf(self) -> str:
        return self.steps[-1]

    def __str__(self) -> str:
        return self.text


def parse_path(text: str, version: str = V1) -> FieldPath:
    """Parse a field path.

    Args:
        text: The path as configured.
        version: ``V1`` or ``V2``.

    Raises:
        ConfigError: SMT101, a backtick at the start of a step has no partner.
    """
    return FieldPath(text, (text,) if version == V1 else tuple(_steps(text)))


def _steps(text: str) -> list[str]:
    steps: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "`":
            step, at = _quoted(text, at)
        else:
            end = text.find(".", at)
            end = len(text) if end < 0 else end
            step, at = text[at:end], end + 1
        steps.append(step)
    if text.endswith(".") and at <= len(text):
        steps.append("")
    return steps


def _quoted(text: str, start: int) -> tuple[str, int]:
    """Read the step that opens with the backtick at ``start``; return it and where the next one begins."""
    step, at = "", start + 1
    while at < len(text):
        char, last = text[at], at == len(text) - 1
        if char != "`" or not (last or text[at + 1] == "."):
            step, at = step + char, at + 1
            continue
        escaped = text[at - 1] == "\\" and at - 1 > start
        if not escaped:
            return step, at + 2
        if last:
            break
        step, at = step[:-1] + "`", at + 1  # the backslash before a backtick that a dot follows is dropped
    raise ConfigError(
        Problem(
            "SMT101",
            "",
            f"incomplete backtick pair in path '{text}' at position {start}",
            "close the pair before a dot or the end, or put a backslash before a backtick that belongs to the name",
            CONFIG_EXCEPTION,
        )
    )
