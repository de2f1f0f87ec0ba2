"""The extended path syntax (``field.syntax.version=extended``): a superset of V2, with steps that are not names.

| step | matches |
|---|---|
| ``name``, ```` `any name` ````, ``['any name']`` | a field, or the value under a key |
| ``[0]``, ``[-1]`` | an element of an array |
| ``[*]``, ``*`` | every element, map value or field |
| ``**`` | any number of levels, including none |
| ``/regex/``, ``/regex/i`` | every field or key whose name contains a match of the regular expression |
| ``type(string)`` | every value of the Connect type ``string`` |
| ``logical(Timestamp)`` | every value of the logical type ``Timestamp`` |
"""

import re

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem
from dagster_smt.model.java_text import trim
from dagster_smt.model.paths.steps import Deep, Every, Index, Match, OfLogical, OfType, Step, quoted
from dagster_smt.model.schema import Type

_TYPES = tuple(t.name.lower() for t in Type)
# the lookahead requires that the step ends here: type(a)x is a plain name
_CALL = re.compile(r"(type|logical)\(([^()]*)\)(?=[.\[]|$)")
# the groups: a star, a number, a name in single quotes, a name in double quotes
_BRACKET = re.compile(r"\[(?:(\*)|(-?\d+)|'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\]", re.DOTALL)
_REGEX = re.compile(r"/((?:[^/\\]|\\.)+)/([a-zA-Z]*)(?=[.\[]|$)", re.DOTALL)
_WORD = re.compile(r"[^.\[]*")
_QUOTE = "put the name into backticks if this belongs to it"
# what a path or a list of paths would not read as a part of a name
_SIGN = re.compile(r"^[`/]|[.*\[,]")
WHOLE = "(whole)"
"""The path of a key or value that is not a struct. If the key or value is a struct, its fields have paths instead."""
# a name in backticks: an escaped backtick, or any character that is not a closing backtick. A backtick closes only
# before a dot, a bracket or the end, as in steps.quoted
_QUOTED = r"`(?:\\`(?=[.\[])|(?!`(?:[.\[]|\Z)|\\`[.\[])(?s:.))*`(?=[.\[]|\Z)"
STEP = rf"(?:\.(?:{_QUOTED}|[^.\[`][^.\[]*)|\['(?:[^'\\]|\\(?s:.))*'\])"
"""A regular expression for a name after the first step of a path, such as ``.city``, ``` .`a.b` ``` or ``['a.b']``."""


def extended_steps(text: str) -> tuple[Step, ...]:
    """Returns the steps of ``text``, a path of the extended syntax. For example, ``items[0].sku`` has the steps
    ``items``, ``Index(0)`` and ``sku``.

    Raises:
        ConfigError: SMT101 if a backtick has no closing backtick; SMT103 if the string is not a path.
    """
    steps: list[Step] = []
    at, more = 0, bool(text)
    while more:
        if at > 0 or not text.startswith("["):
            step, at = _step(text, at)
            steps.append(step)
        while text[at : at + 1] == "[":
            step, at = _bracket(text, at)
            steps.append(step)
        more = at < len(text)
        if more and text[at] != ".":
            raise _no_path(text, at, "a dot or a bracket must follow here", _QUOTE)
        at += 1
    if steps and isinstance(steps[-1], Deep):
        raise _no_path(text, len(text), "a step must follow '**'", "write **.name or **./regex/")
    return tuple(steps)


def _step(text: str, at: int) -> tuple[Step, int]:
    if text[at : at + 1] == "`":
        return quoted(text, at, ".[")
    if text[at : at + 1] == "/":
        return _pattern(text, at)
    call = _CALL.match(text, at)
    if call:
        return _selection(text, at, call[1], call[2].strip()), call.end()
    match = _WORD.match(text, at)
    word, end = (match[0], match.end()) if match else ("", at)
    if word in ("*", "**"):
        return (Every() if word == "*" else Deep()), end
    if "*" in word:
        raise _no_path(text, at, f"'{word}' has a star in it", f"for a pattern write /regex/; {_QUOTE}")
    return word, end


def _selection(text: str, at: int, kind: str, name: str) -> Step:
    if kind == "logical":
        if not name:
            raise _no_path(text, at, "logical() names no type", "write logical(Timestamp) for example")
        return OfLogical(name)
    if name.lower() not in _TYPES:
        hint = f"the types are: {', '.join(_TYPES)}; for a logical type write logical(Timestamp)"
        raise _no_path(text, at, f"there is no type '{name}'", hint)
    return OfType(name.lower())


def _pattern(text: str, at: int) -> tuple[Step, int]:
    match = _REGEX.match(text, at)
    if not match:
        raise _no_path(text, at, "the pattern is not closed by a slash", _QUOTE)
    if match[2] not in ("", "i"):
        raise _no_path(text, at, f"'{match[2]}' is not a flag of a pattern", "the only flag is i, which ignores case")
    return Match(match[1].replace("\\/", "/"), match[2] == "i"), match.end()


def _bracket(text: str, at: int) -> tuple[Step, int]:
    match = _BRACKET.match(text, at)
    if not match:
        raise _no_path(
            text, at, "no index, star or quoted name in the brackets", f"write [0], [*] or ['key']; {_QUOTE}"
        )
    if match[1]:
        return Every(), match.end()
    if match[2]:
        return Index(int(match[2])), match.end()
    name = match[3] if match[3] is not None else match[4]
    return re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL), match.end()


def _no_path(text: str, at: int, what: str, hint: str) -> ConfigError:
    return ConfigError(Problem("SMT103", "", f"'{text}' is not a path: {what} (position {at})", hint, CONFIG_EXCEPTION))


def step_text(step: Step, first: bool = False) -> str:
    """Returns ``step`` as a path spells it: ``.sku`` for the name ``sku``, ``[0]`` for the first element of an array.
    ``first`` is True for the first step of a path, which has no dot before it: ``sku``.
    """
    dot = "" if first else "."
    if isinstance(step, str):
        # a name with spaces at its ends would lose them in a list of paths, and (whole) means the whole value
        if step == trim(step) not in ("", WHOLE) and not _SIGN.search(step) and not _CALL.match(step):
            return dot + step
        if step.endswith("\\"):  # the backslash would escape the closing backtick
            return key_text(step)
        return dot + "`" + re.sub(r"`(?=[.\[])", r"\\`", step) + "`"
    if isinstance(step, Index):
        return f"[{step.number}]"
    if isinstance(step, Every):
        return "[*]"
    if isinstance(step, Match):
        # chr(92) is a backslash, which an f-string cannot contain before Python 3.12
        return f"{dot}/{step.pattern.replace('/', chr(92) + '/')}/{'i' if step.any_case else ''}"
    if isinstance(step, OfType | OfLogical):
        return f"{dot}{f'type({step.type})' if isinstance(step, OfType) else f'logical({step.name})'}"
    return f"{dot}**"


def key_text(name: str) -> str:
    """Returns ``name`` in brackets and quotes, such as ``['a.b']``."""
    return "['" + re.sub(r"(['\\])", r"\\\1", name) + "']"


def route_text(steps: tuple[Step, ...]) -> str:
    """Returns the path ``steps`` in the extended syntax, for messages and reports. Examples are ``items[*].sku`` and
    ``` attrs.`a.b` ```.
    """
    texts = []
    for number, step in enumerate(steps):
        texts.append(step_text(step, number == 0))
    return "".join(texts)


def below(path: str, name: str) -> str:
    """Returns the path of the field ``name`` in the struct at ``path``: ``below("a", "b")`` is ``a.b``. At the top
    level, ``path`` is empty.

    A name that a path or a list of paths would misread, such as ``b.c`` or ``b,c``, is quoted. All other names are
    written as they are. Different fields therefore have different paths. A path that begins with ``a.`` or ``a[`` is
    always inside the field ``a``.
    """
    return path + step_text(name, first=not path)
