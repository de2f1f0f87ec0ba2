"""Java regular expressions on the ``regex`` library, as Java 17 (Unicode 13) reads them with its default flags.

A pattern is read as ``java.util.regex.Pattern`` reads it: what Java refuses is refused, with the same places for
quantifiers, flags, classes, intersections, quotes, escapes, properties, scripts and blocks. ``\\d \\w \\s`` and POSIX
classes are ASCII unless the flag U holds; ``.``, ``^`` and ``$`` know all of Java's line ends unless the flag d holds.
``\\b`` is that of Java before 19: letters and digits of all scripts with their combining marks, and the low line;
from Java 19 on it is ASCII without the flag U.

What cannot be had exactly is refused by name when the configuration is read, never matched differently:

- the flag c, ``\\b{g}``, a name in ``\\N{...}`` with a code point in it, such as those of ideographs;
- a reference under the flags i and u, or under i in a pattern with Unicode properties or ``\\b``;
- a reference to a group that is not closed yet, or to one of the unsure groups below;
- a look-behind with ``\\X``, an atomic or possessive part, an unlimited and other parts, or an escaped character
  beyond ``\\uFFFF``;
- a group that can be empty two or more times, such as ``(a?|b){2}``, unless it is possessive;
- an intersection with nothing on its right and a literal on its left, such as ``[a-zZ&&]``: Java cannot match it;
- repetitions that are tens of thousands of characters long, and more than 100 groups inside each other.

Unsure groups: inside a part that is matched once for all, in a repeated part that can be empty, and in a repetition of
repetitions, Java may give a group what it held on a way that failed or at an earlier time. Such a pattern is used, but
a replacement that names such a group fails.

Two limits remain. Characters that were assigned or reclassified after Unicode 13 can have other properties here. And a
text is a row of characters here, in Java one of 16-bit units: in one with characters beyond ``\\uFFFF``, a find,
a look-behind and a reference under the flag i can see half of one in Java.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, DataError, Problem, data_error
from dagster_smt.values.basic import PythonRule
from dagster_smt.values.java.regex_pattern import translate
from dagster_smt.values.java.regex_scanner import RefusedPattern

_unsure: dict[str, frozenset[int]] = {}
"""By translated pattern: the groups that a replacement cannot use."""


def _refuse(pattern: str, what: str) -> ConfigError:
    statement = f"the regular expression '{pattern}' is not usable: {what}"
    return ConfigError(
        Problem("SMT021", "", statement, "rewrite it; see the reference for the subset", CONFIG_EXCEPTION)
    )


SECONDS = 5.0
"""How long one text may take. Without a limit a producer could stop a run with a text that makes a pattern go back and
forth: ``(a+)+b`` needs years for sixty letters."""
_WORK, _SHORT = 100_000_000, 24
_REPEATED_GROUP = regex.compile(r"\)[*+?{]")


class JavaPattern:
    """A compiled pattern; a text that takes too long is the problem of its record."""

    def __init__(self, compiled: Any):
        self.compiled, text = compiled, compiled.pattern
        repeats = sum(map(text.count, "*+?{"))
        # asking for the time is slower than most matches: only where the text is long enough to need it
        if _REPEATED_GROUP.search(text):
            self.harmless = _SHORT
        else:
            self.harmless = int(_WORK ** (1 / (repeats + 1)))

    def search(self, text: str) -> Any:
        """The first find in a text, or None."""
        if len(text) <= self.harmless:
            return self.compiled.search(text)
        return self._timed(self.compiled.search, text)

    def fullmatch(self, text: str) -> Any:
        """The match of a whole text, or None."""
        if len(text) <= self.harmless:
            return self.compiled.fullmatch(text)
        return self._timed(self.compiled.fullmatch, text)

    @staticmethod
    def _timed(function: Any, text: str) -> Any:
        try:
            return function(text, timeout=SECONDS)
        except TimeoutError:
            raise too_long() from None


def too_long() -> DataError:
    """The error of a text that takes a pattern longer than ``SECONDS``."""
    statement = f"a regular expression is not done with the text after {SECONDS:.0f} seconds"
    hint = "rewrite it without repetitions inside of repetitions; see the dead letter for the text"
    return data_error("SMT445", statement, hint, "")


def may_take_long(pattern: str) -> bool:
    """Whether a Java pattern repeats anything: the work for a text may then grow faster than the text.

    Java knows no limit of time, and its stack ends in long repetitions of groups: such a pattern runs in Python.
    """
    return bool(set(pattern) & set("*+{")) or "\\X" in pattern


@lru_cache(maxsize=256)
def compile_java(pattern: str) -> JavaPattern:
    """Compile a Java pattern.

    Raises:
        ConfigError: SMT021, not a regular expression of Java, or one that cannot be had exactly.
    """
    try:
        translated = translate(pattern)
        compiled = regex.compile(translated.text, regex.V1 | (regex.ASCII if translated.ascii_only else regex.UNICODE))
    except RefusedPattern as refused:
        raise _refuse(pattern, str(refused)) from None
    except RecursionError:
        raise _refuse(pattern, "too many groups inside each other") from None
    except regex.error as error:
        raise _refuse(pattern, error.msg) from None  # its position is one of the translated pattern
    if translated.unsure:
        _unsure[compiled.pattern] = translated.unsure
    return JavaPattern(compiled)


def expand(replacement: str, match: Any) -> str:
    """``Matcher.appendReplacement``: ``$1``, ``${name}``, backslash escapes."""
    out, at = [], 0
    while at < len(replacement):
        char = replacement[at]
        at += 1
        if char == "\\":
            if at == len(replacement):
                raise _bad_replacement("it ends with a lone backslash")
            out.append(replacement[at])
            at += 1
        elif char == "$":
            name, at = _group_name(replacement, at, match.re.groups)
            if match.re.groupindex.get(name, name) in _unsure.get(match.re.pattern, ()):
                raise _bad_replacement(f"what the group {name} holds may depend on the engine")
            try:
                out.append(match.group(name) or "")
            except IndexError:
                raise _bad_replacement(f"there is no group {name}") from None
        else:
            out.append(char)
    return "".join(out)


def _group_name(text: str, at: int, groups: int) -> tuple[int | str, int]:
    named = regex.match(r"\{([a-zA-Z][a-zA-Z0-9]*)\}", text[at:])
    if named:
        return named[1], at + named.end()
    if at >= len(text) or text[at] not in "0123456789":
        raise _bad_replacement("a dollar sign without a group")
    number = int(text[at])
    at += 1
    while at < len(text) and text[at] in "0123456789" and number * 10 + int(text[at]) <= groups:
        number, at = number * 10 + int(text[at]), at + 1
    return number, at


def group_missing() -> DataError:
    """What Spark says of a replacement that cannot be used, whatever is wrong with it."""
    return _bad_replacement("it names a group that the pattern does not have")


def _bad_replacement(what: str) -> DataError:
    hint = "write $1 or ${name} for a group, and \\$ for a dollar sign"
    return data_error("SMT406", f"the replacement cannot be used: {what}", hint)


@dataclass(frozen=True, slots=True)
class Matches(PythonRule):
    """Whether the whole text matches (``Matcher.matches``); null does not."""

    pattern: str

    def python(self, text: str | None) -> bool:
        return text is not None and compile_java(self.pattern).fullmatch(text) is not None

    def other_failures(self) -> tuple[Any, ...]:
        return (too_long(),)


@dataclass(frozen=True, slots=True)
class MatchesOrNull(Matches):
    """Null where the text does not match."""

    def python(self, text: str | None) -> bool | None:  # type: ignore[override]
        return Matches.python(self, text) or None


@dataclass(frozen=True, slots=True)
class ReplaceIfMatches(PythonRule):
    """RegexRouter: if the whole text matches, replace the first find (which can be shorter: ``a|ab`` on ``ab``)."""

    pattern: str
    replacement: str
    may_fail = True

    def python(self, text: str | None) -> str:
        compiled = compile_java(self.pattern)
        if text is None:
            raise data_error("SMT407", "the record has no topic")
        if compiled.fullmatch(text) is None:
            return text
        first = compiled.search(text)
        return text[: first.start()] + expand(self.replacement, first) + text[first.end() :]

    def failure(self) -> Any:
        return group_missing()

    def other_failures(self) -> tuple[Any, ...]:
        return (too_long(),)
