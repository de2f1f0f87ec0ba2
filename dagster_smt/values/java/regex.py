"""Translates Java regular expressions to the ``regex`` library, with the meaning that they have in Java 17 (Unicode
13).

The translator reads a pattern as ``java.util.regex.Pattern`` does. Quantifiers, flags, classes, intersections, quotes,
escapes, properties, scripts and blocks are allowed in the same places. If Java rejects a pattern, so does the
translator. ``\\d \\w \\s`` and POSIX classes are ASCII without the flag U; ``.``, ``^`` and ``$`` recognize every line
terminator of Java, unless the flag d is set. ``\\b`` is the boundary of Java before 19: its words consist of letters
and digits of all scripts with their combining marks, and of the underscore. From Java 19 on, words are ASCII without
the flag U.

If a pattern cannot be translated exactly, it is rejected when the configuration is read. The error names the construct.
No pattern is ever matched differently from Java. The following constructs are rejected:

- the flag c, ``\\b{g}``, and names in ``\\N{...}`` that contain a code point, such as names of ideographs;
- a reference under the flags i and u, or under i in a pattern with Unicode properties or ``\\b``;
- a reference to a group that is not closed yet, or to an unreliable group (see below);
- a look-behind with ``\\X``, with an atomic or possessive part, with an unlimited part next to other parts, or with an
  escaped character beyond ``\\uFFFF``;
- a group that may be empty and is repeated at least twice, such as ``(a?|b){2}``, unless it is possessive;
- an intersection with nothing on its right and a literal on its left, such as ``[a-zZ&&]``, which never matches in
  Java;
- repetitions of tens of thousands of characters, and more than 100 nested groups.

Unreliable groups: after a failed attempt or an earlier repetition, Java may leave the former match in a group. That can
happen in an atomic part, in a repeated part that may be empty, and in a repetition of repetitions. The pattern itself
is usable, but a replacement that uses such a group fails.

Two limits remain. Characters that were assigned or reclassified after Unicode 13 may have different properties here.
Also, a string is a sequence of characters here, but a sequence of 16-bit units in Java. In strings with characters
beyond ``\\uFFFF``, a search, a look-behind, or a reference under the flag i may therefore see half a character in Java.

Decision 32 explains why this translator exists and why no part of it can be left out.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, DataError, Problem, data_error
from dagster_smt.values.java.regex_pattern import translate
from dagster_smt.values.java.regex_scanner import RefusedPattern
from dagster_smt.values.value_rule import PythonRule

_unsure: dict[str, frozenset[int]] = {}
"""Maps a translated pattern to the numbers of its unreliable groups. After a match, such a group may have a different
content than in Java, so a replacement must not use it.
"""


def _refuse(pattern: str, what: str) -> ConfigError:
    statement = f"the regular expression '{pattern}' cannot be used: {what}"
    hint = "rewrite the expression; the reference lists the supported constructs"
    return ConfigError(Problem("SMT021", "", statement, hint, CONFIG_EXCEPTION))


SECONDS = 5.0
"""The longest time for matching one string, in seconds.

Without a limit, a producer could block a run with a string that makes a pattern backtrack: for a string of sixty
letters, ``(a+)+b`` needs years.
"""
_WORK, _SHORT = 100_000_000, 24
_REPEATED_GROUP = regex.compile(r"\)[*+?{]")


class JavaPattern:
    """A compiled Java pattern. If matching a string takes too long, the record fails."""

    def __init__(self, compiled: Any):
        self.compiled, text = compiled, compiled.pattern
        repeats = sum(map(text.count, "*+?{"))
        # a timeout costs more time than most matches, so short strings are matched without a timeout
        # in a repeated group, each character may double the number of ways to match; each repetition outside of groups
        # multiplies it by the length of the string
        if _REPEATED_GROUP.search(text):
            self.harmless = _SHORT
        else:
            self.harmless = int(_WORK ** (1 / (repeats + 1)))

    def search(self, text: str) -> Any:
        """Returns the first match in ``text``, or None."""
        if len(text) <= self.harmless:
            return self.compiled.search(text)
        return self._timed(self.compiled.search, text)

    def fullmatch(self, text: str) -> Any:
        """Returns the match of the whole string ``text``, or None."""
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
    """Returns the error for a string on which a pattern needs more than ``SECONDS``."""
    statement = f"a regular expression needs more than {SECONDS:.0f} seconds for the text"
    hint = "rewrite the expression without nested repetitions; the dead letter contains the text"
    return data_error("SMT445", statement, hint, "")


def may_take_long(pattern: str) -> bool:
    """Returns True if the Java pattern ``pattern`` may contain a repetition, such as ``a*`` or ``(a+)+``. Some patterns
    with repetitions take very long to match.

    A pattern with a repetition is matched in Python, because Java's matching has no time limit. Java's stack also
    overflows in long repetitions of groups.
    """
    return bool(set(pattern) & set("*+{")) or "\\X" in pattern


@lru_cache(maxsize=256)
def compile_java(pattern: str) -> JavaPattern:
    """Compiles the Java pattern ``pattern``.

    Raises:
        ConfigError: SMT021 if the pattern is not a Java regular expression, or cannot be translated exactly.
    """
    try:
        translated = translate(pattern)
        # classes inside classes, && and -- are parts of the version 1 of ``regex``
        compiled = regex.compile(translated.text, regex.V1 | (regex.ASCII if translated.ascii_only else regex.UNICODE))
    except RefusedPattern as refused:
        raise _refuse(pattern, str(refused)) from None
    except RecursionError:
        raise _refuse(pattern, "too many nested groups") from None
    except regex.error as error:
        # the position of the error is left out, because it refers to the translated pattern
        raise _refuse(pattern, error.msg) from None
    if translated.unsure:
        _unsure[compiled.pattern] = translated.unsure
    return JavaPattern(compiled)


def expand(replacement: str, match: Any) -> str:
    """Returns ``replacement`` with the groups of ``match`` in place of references, and without escapes, as
    ``Matcher.appendReplacement`` does. If the group 1 matched ``a``, ``$1-x`` becomes ``a-x``.
    """
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
                raise _bad_replacement(f"the content of the group {name} may depend on the engine")
            try:
                # Java writes nothing for a group that has not matched
                out.append(match.group(name) or "")
            except IndexError:
                raise _bad_replacement(f"there is no group {name}") from None
        else:
            out.append(char)
    return "".join(out)


def _group_name(text: str, at: int, groups: int) -> tuple[int | str, int]:
    match = regex.match(r"\{([a-zA-Z][a-zA-Z0-9]*)\}", text[at:])
    if match:
        return match[1], at + match.end()
    if at >= len(text) or text[at] not in "0123456789":
        raise _bad_replacement("a dollar sign without a group")
    number = int(text[at])
    at += 1
    # as in Java, ``$10`` is group 1 and a literal 0 if the pattern has fewer than ten groups
    while at < len(text) and text[at] in "0123456789" and number * 10 + int(text[at]) <= groups:
        number, at = number * 10 + int(text[at]), at + 1
    return number, at


def group_missing() -> DataError:
    """Returns the error for a replacement that refers to a group which the pattern does not have. On Spark, this error
    is reported for every replacement that cannot be used.
    """
    return _bad_replacement("it uses a group that the pattern does not have")


def _bad_replacement(what: str) -> DataError:
    hint = "write $1 or ${name} for a group, and \\$ for a dollar sign"
    return data_error("SMT406", f"the replacement cannot be used: {what}", hint)


@dataclass(frozen=True, slots=True)
class Matches(PythonRule):
    """A rule that returns True if a pattern matches the whole string (``Matcher.matches``). A null does not match."""

    pattern: str

    def python(self, text: str | None) -> bool:
        return text is not None and compile_java(self.pattern).fullmatch(text) is not None

    def other_failures(self) -> tuple[Any, ...]:
        return (too_long(),)


@dataclass(frozen=True, slots=True)
class MatchesOrNull(Matches):
    """A rule that returns True if a pattern matches the whole string, else null."""

    def python(self, text: str | None) -> bool | None:  # type: ignore[override]
        return Matches.python(self, text) or None


@dataclass(frozen=True, slots=True)
class ReplaceIfMatches(PythonRule):
    """A rule that replaces the first match of a pattern if the pattern matches the whole string, as RegexRouter does.

    The first match may be shorter than the string. For example, the first match of ``a|ab`` in ``ab`` is ``a``.
    """

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
