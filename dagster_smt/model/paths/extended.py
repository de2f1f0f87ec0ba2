"""The extended path syntax (``field.syntax.version=extended``): a superset of V2, with steps that are no names.

| step | reaches |
|---|---|
| ``name``, ```` `any name` ````, ``['any name']`` | a field, or the value under a key |
| ``[0]``, ``[-1]`` | an element of an array |
| ``[*]``, ``*`` | every element, map value or field |
| ``**`` | any number of levels |
| ``/regex/``, ``/regex/i`` | every field or key in whose name the expression is found |
| ``type(string)`` | everything of a Connect type |
| ``logical(Timestamp)`` | everything of a logical type |
"""

import re

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem
from dagster_smt.model.java_text import trim
from dagster_smt.model.paths.steps import Deep, Every, Index, Match, OfLogical, OfType, Step, quoted
from dagster_smt.model.schema import Type

_TYPES = tuple(t.name.lower() for t in Type)
_CALL = re.compile(r"(type|logical)\(([^()]*)\)(?=[.\[]|$)")
_BRACKET = re.compile(r"\[(?:(\*)|(-?\d+)|'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\]", re.DOTALL)
_REGEX = re.compile(r"/((?:[^/\\]|\\.)+)/([a-zA-Z]*)(?=[.\[]|$)", re.DOTALL)
_WORD = re.compile(r"[^.\[]*")
_QUOTE = "put the name into backticks if this belongs to it"
_SIGN = re.compile(r"^[`/]|[.*\[,]")
WHOLE = "(whole)"
"""What a key or value that is no struct is called where others have the path of a field."""
_QUOTED = r"`(?:\\`(?=[.\[])|(?!`(?:[.\[]|\Z)|\\`[.\[])(?s:.))*`(?=[.\[]|\Z)"
STEP = rf"(?:\.(?:{_QUOTED}|[^.\[`][^.\[]*)|\['(?:[^'\\]|\\(?s:.))*'\])"
"""A regular expression for a name as it follows others in ``route_text``."""


def extended_steps(text: str) -> tuple[Step, ...]:
    """The steps of a path.

    Raises:
        ConfigError: SMT101 or SMT103.
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
        raise _no_path(text, len(text), "'**' must be followed by what to look for", "write **.name or **./regex/")
    return tuple(steps)


def _step(text: str, at: int) -> tuple[Step, int]:
    if text[at : at + 1] == "`":
        return quoted(text, at, ".[")
    if text[at : at + 1] == "/":
        return _pattern(text, at)
    call = _CALL.match(text, at)
    if call:
        return _selection(text, at, call[1], call[2].strip()), call.end()
    found = _WORD.match(text, at)
    word, end = (found[0], found.end()) if found else ("", at)
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
        hint = f"the types are: {', '.join(_TYPES)}; logical types are found with logical(Timestamp)"
        raise _no_path(text, at, f"there is no type '{name}'", hint)
    return OfType(name.lower())


def _pattern(text: str, at: int) -> tuple[Step, int]:
    found = _REGEX.match(text, at)
    if not found:
        raise _no_path(text, at, "the pattern is not closed by a slash", _QUOTE)
    if found[2] not in ("", "i"):
        raise _no_path(text, at, f"'{found[2]}' is no flag of a pattern", "the only flag is i: in any case")
    return Match(found[1].replace("\\/", "/"), found[2] == "i"), found.end()


def _bracket(text: str, at: int) -> tuple[Step, int]:
    found = _BRACKET.match(text, at)
    if not found:
        raise _no_path(
            text, at, "no index, star or quoted name in the brackets", f"write [0], [*] or ['key']; {_QUOTE}"
        )
    if found[1]:
        return Every(), found.end()
    if found[2]:
        return Index(int(found[2])), found.end()
    name = found[3] if found[3] is not None else found[4]
    return re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL), found.end()


def _no_path(text: str, at: int, what: str, hint: str) -> ConfigError:
    return ConfigError(Problem("SMT103", "", f"'{text}' is no path: {what} (position {at})", hint, CONFIG_EXCEPTION))


def step_text(step: Step, first: bool = False) -> str:
    """A step in this syntax, as it stands in a path; ``first``: nothing is before it."""
    dot = "" if first else "."
    if isinstance(step, str):
        if step == trim(step) not in ("", WHOLE) and not _SIGN.search(step) and not _CALL.match(step):
            return dot + step
        if step.endswith("\\"):  # it would keep the backtick after it from closing
            return key_text(step)
        return dot + "`" + re.sub(r"`(?=[.\[])", r"\\`", step) + "`"
    if isinstance(step, Index):
        return f"[{step.number}]"
    if isinstance(step, Every):
        return "[*]"
    if isinstance(step, Match):
        return f"{dot}/{step.pattern.replace('/', chr(92) + '/')}/{'i' if step.any_case else ''}"
    if isinstance(step, OfType | OfLogical):
        return f"{dot}{f'type({step.type})' if isinstance(step, OfType) else f'logical({step.name})'}"
    return f"{dot}**"


def key_text(name: str) -> str:
    """A name in brackets."""
    return "['" + re.sub(r"(['\\])", r"\\\1", name) + "']"


def route_text(steps: tuple[Step, ...]) -> str:
    """A path in this syntax, for people: ``items[*].sku``, ``` attrs.`a.b` ```."""
    return "".join(step_text(step, number == 0) for number, step in enumerate(steps))


def below(path: str, name: str) -> str:
    """The path of a field of the struct at ``path`` (empty: the top level), as everything that is shown has it.

    A name stands as it is unless the syntax, or a list of paths, would read it as something else, or as nothing. So
    different fields have different paths, and no path begins with another one and a dot or bracket but those below it.
    """
    return path + step_text(name, first=not path)
