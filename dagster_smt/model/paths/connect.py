"""Reads field paths in options. A path is written in one of Kafka's two syntaxes (KIP-821, class ``SingleFieldPath``),
or in the extended syntax.

In V1, the whole string is one field name, including any dots. In V2, dots separate the steps, and a dot inside
backticks is part of a name. ``extended`` adds steps that are not names, such as ``[0]`` or ``**``. The module
``model.paths.extended`` reads such steps.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from dagster_smt.model.java_text import BLANKS, trim
from dagster_smt.model.paths.extended import extended_steps
from dagster_smt.model.paths.steps import Index, Step, quoted

V1, V2, EXTENDED = "V1", "V2", "extended"
_BACKTICKS = re.compile(r"`[^`]*`")
_PATTERN = re.compile(
    r"""\*                                           # any name
    | \[(?:-?\d+|'[^']*'|"[^"]*")\]               # an element, a key
    | (?:^|\.)/.+/i?(?:$|[.\[])                    # a regular expression
    | (?:^|\.)(?:type|logical)\([^()]*\)(?:$|[.\[])
    | ^\$[.\[]                                     # JSONPath
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path that can match one or several fields.

    Attributes:
        text: The path as the user wrote it.
        steps: The steps, from the top of the key or value.
    """

    text: str
    steps: tuple[Step, ...]

    @property
    def plain(self) -> bool:
        """True if all steps are names."""
        return all(isinstance(step, str) for step in self.steps)

    @property
    def single(self) -> bool:
        """True if the path matches at most one field."""
        for step in self.steps:
            if not isinstance(step, str | Index):
                return False
        return True

    @property
    def flat(self) -> bool:
        """True if the path is a top-level name."""
        return len(self.steps) == 1 and self.plain

    @property
    def leaf(self) -> str:
        """The last name on the path."""
        for step in reversed(self.steps):
            if isinstance(step, str):
                return step
        return ""

    def __str__(self) -> str:
        return self.text


def parse_path(text: str, version: str = V1) -> FieldPath:
    """Parses the field path ``text``.

    Args:
        text: The path as configured.
        version: ``V1``, ``V2`` or ``extended``.

    Raises:
        ConfigError: SMT101 if a backtick at the start of a step has no closing backtick; SMT103 if the string is not a
            path of the extended syntax.
    """
    if version == EXTENDED:
        return FieldPath(text, extended_steps(text))
    return FieldPath(text, (text,) if version == V1 else tuple(_steps(text)))


def seems_pattern(text: str, version: str = V1) -> bool:
    """Returns True if ``text`` looks like a pattern or a JSONPath, such as ``**.email`` or ``$.email``, but ``version``
    reads it as plain names.

    Such a path is probably a mistake. Under V2, parts in backticks are not checked, because their author has quoted
    them as plain names. V1 has no backticks.
    """
    if version == EXTENDED:
        return False
    return _PATTERN.search(_BACKTICKS.sub("`", text) if version == V2 else text) is not None


def _steps(text: str) -> list[str]:
    steps: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "`":
            step, at = quoted(text, at)
            at += 1
        else:
            end = text.find(".", at)
            end = len(text) if end < 0 else end
            step, at = text[at:end], end + 1
        steps.append(step)
    # as in Kafka's SingleFieldPath, a path that ends with a dot has an empty last name: "foo." is ("foo", "")
    if text.endswith("."):
        steps.append("")
    return steps


def split_paths(text: str, mark: str, version: str, inner: str = "") -> list[str]:
    """Splits ``text``, a list or a pair of paths, at the character ``mark``. A mark inside quotes, brackets or slashes
    does not split.

    Args:
        text: ``a,b.c`` or ``old:new``.
        mark: ``,`` for a list, ``:`` for a pair.
        version: ``V1``, ``V2`` or ``extended``.
        inner: The character between the two halves of one item, such as ``:`` in the list ``a:b,c:d``; empty if items
            have no halves. A name in quotes may also begin directly after this character.

    Returns:
        The parts, without surrounding spaces, such as ``a`` and ``b.c`` for ``a,b.c``. A name in backticks may contain
        the mark. In such a name, a backtick directly before the mark ends the name, unless a backslash precedes the
        backtick. The result does not contain this backslash.
    """
    parts, piece, at, opens = [], "", 0, True
    while at < len(text):
        char = text[at]
        if char == mark:
            parts.append(trim(piece))
            piece, at, opens = "", at + 1, True
            continue
        skip = _SKIPS.get(char) if version == EXTENDED or char == "`" else None
        if skip is not None and (opens or char == "["):
            end = skip(text, at, mark + inner)
            # the backslash only prevents the backtick from closing the name at the mark, so it goes after the split
            piece += text[at:end].replace(f"\\`{mark}", f"`{mark}") if char == "`" else text[at:end]
            at, opens = end, False
            continue
        piece, at = piece + char, at + 1
        # a quoted name begins only at the start of a step: the backtick in "a`b" belongs to the name
        opens = char in f".{inner}" or (opens and char in BLANKS)
    return [*parts, trim(piece)]


def _after_backticks(text: str, start: int, marks: str) -> int:
    for at in range(start + 1, len(text)):
        if text[at] == "`" and text[at - 1] != "\\":
            # spaces before the mark are allowed, because each part is trimmed: "`a` , `b`"
            follows = text[at + 1 :].lstrip(BLANKS)[:1]
            if not follows or follows in marks or text[at + 1] in ".[":
                return at + 1
    return len(text)


def _after_slashes(text: str, start: int, marks: str) -> int:
    at = start + 1
    while at < len(text) and text[at] != "/":
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))


def _after_bracket(text: str, start: int, marks: str) -> int:
    quote = text[start + 1 : start + 2]
    if quote not in ("'", '"'):
        end = text.find("]", start)
        if end < 0:
            return len(text)
        return end + 1
    # the position after the bracket and the quote; at the end, the closing quote and the closing bracket are skipped
    at = start + 2
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return min(at + 2, len(text))


_SKIPS: dict[str, Callable[[str, int, str], int]] = {
    "`": _after_backticks,
    "/": _after_slashes,
    "[": _after_bracket,
}
