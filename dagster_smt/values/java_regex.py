"""Java regular expressions on the ``regex`` library, over a stated subset.

The subset: what both engines read alike, plus ``\\p{Alpha}``-style POSIX classes, ``\\h``, ``\\R``, ``\\Z``, ``\\z``,
``\\Q..\\E``, named groups, possessive quantifiers and class intersections. A construct outside it is refused by name
when the configuration is read, never matched differently. Java's defaults hold: ``\\d \\w \\s \\b`` are ASCII,
``.`` and ``$`` know all of Java's line ends.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, Problem, data_error
from dagster_smt.values.basic import PythonRule

_LINE_END = r"\n\r\u0085\u2028\u2029"
_PLAIN_ESCAPES = set("tnrfae0xucdDwWsSbBAGzZhHvVRXkQEpPN123456789")
_POSIX = {
    "Lower": "a-z", "Upper": "A-Z", "ASCII": r"\x00-\x7F", "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~", "Graph": "!-~", "Print": r"\x20-~", "Blank": r" \t", "Cntrl": r"\x00-\x1F\x7F",
    "XDigit": "0-9a-fA-F", "Space": r" \t\n\x0B\f\r",
}  # fmt: skip
_CLASSES = {
    "d": "0-9", "w": "a-zA-Z_0-9", "s": r" \t\n\x0B\f\r", "v": r"\n\x0B\f\r\x85\u2028\u2029",
    "h": r" \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
}  # fmt: skip

_INTERSECTION = regex.compile(r"\G[^\[^&]&&[^\]&]")
_REPETITION = regex.compile(r"[0-9]+(,[0-9]*)?\}")
_GROUP = regex.compile(r"\?([=!>]|<[=!]|<[a-zA-Z][a-zA-Z0-9]*>)")


def _refuse(pattern: str, what: str) -> ConfigError:
    statement = f"the regular expression '{pattern}' is not usable: {what}"
    return ConfigError(
        Problem("SMT021", "", statement, "rewrite it; see the reference for the subset", CONFIG_EXCEPTION)
    )


class _Translator:
    """Rewrites one Java pattern; ``at`` is the next character."""

    def __init__(self, pattern: str):
        self.pattern, self.at, self.depth = pattern, 0, 0
        self.dot_all = self.multi_line = self.any_case = self.unicode = False

    def run(self) -> str:
        out = [self._leading_flags()]
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            self.at += 1
            if char == "\\":
                out.append(self._escape(inside=self.depth > 0))
            elif self.depth == 0 and char == ".":
                out.append("(?s:.)" if self.dot_all else f"[^{_LINE_END}]")
            elif self.depth == 0 and char == "$":
                out.append(rf"(?=\r\n|[{_LINE_END}]|\Z)" if self.multi_line else rf"(?=(?:\r\n|[{_LINE_END}])?\Z)")
            elif self.depth == 0 and char == "^":
                out.append(rf"(?:\A|(?<=[{_LINE_END}])(?!\Z)(?<!\r(?=\n)))" if self.multi_line else r"\A")
            elif char == "[":
                out.append(self._open_class())
            elif char == "]" and self.depth:
                self.depth -= 1
                out.append(char)
            elif self.depth and char in "&|~-" and self.pattern.startswith(char, self.at):
                out.append(self._doubled(char))
            elif char == "(" and not self.depth:
                out.append(self._group())
            elif char == "{" and not self.depth and not _REPETITION.match(self.pattern, self.at):
                raise _refuse(self.pattern, "a '{' that begins no repetition")
            else:
                out.append(char)
        if self.depth:
            raise _refuse(self.pattern, "a class is not closed")
        if self.unicode and self.any_case:
            raise _refuse(self.pattern, "a Unicode property together with the flag i")
        return "".join(out)

    def _leading_flags(self) -> str:
        """Flags for the whole pattern; ``x`` only where no class contains the blanks it would skip."""
        found = regex.match(r"\(\?([ismx]+)\)", self.pattern)
        if not found:
            return ""
        self.at = found.end()
        flags = set(found[1])
        self.dot_all, self.multi_line = "s" in flags, "m" in flags
        if "x" in flags and regex.search(r"\[[^\]]*[\s#]", self.pattern):
            raise _refuse(self.pattern, "blanks inside a class under the flag x")
        self.any_case = "i" in flags
        kept = "".join(sorted(flags & set("ix")))
        return f"(?{kept})" if kept else ""

    def _doubled(self, char: str) -> str:
        """A doubled mark inside a class: ``&&`` is Java's intersection, the others mean something to ``regex`` only."""
        if char in "|~":
            return "\\" + char
        if char == "-" or not _INTERSECTION.search(self.pattern, self.at - 2):
            raise _refuse(self.pattern, f"'{char}{char}' at this place in a class")
        self.at += 1
        return "&&"

    def _open_class(self) -> str:
        self.depth += 1
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        if self.pattern.startswith(":", self.at) and self.depth > 1:
            raise _refuse(self.pattern, "a class that begins with ':' inside a class")
        if self.pattern.startswith("]", self.at):
            self.at += 1
            return ("[^" if negated else "[") + r"\]"
        return "[^" if negated else "["

    def _group(self) -> str:
        rest = self.pattern[self.at :]
        flags = regex.match(r"\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])", rest)
        if rest.startswith("?") and not flags and not _GROUP.match(rest):
            raise _refuse(self.pattern, f"the group '({rest[:3]}'")
        if flags:
            on, off = set(flags[1] or ""), set(flags[2] or "")
            self.any_case |= "i" in on
            if (on | off) - set("i"):
                raise _refuse(
                    self.pattern, f"inline flags other than i after the start: '(?{''.join(sorted(on | off))})'"
                )
        return "("

    def _escape(self, inside: bool) -> str:
        if self.at >= len(self.pattern):
            raise _refuse(self.pattern, "it ends with a lone backslash")
        char = self.pattern[self.at]
        self.at += 1
        if char == "Q":
            end = self.pattern.find("\\E", self.at)
            literal = self.pattern[self.at : end if end >= 0 else None]
            self.at = end + 2 if end >= 0 else len(self.pattern)
            return regex.escape(literal)
        if char.lower() in _CLASSES:
            body = _CLASSES[char.lower()]
            if char.isupper():
                return f"[^{body}]"
            return f"[{body}]"
        if char in "pP":
            return self._property(char)
        if (char.isalpha() and char not in _PLAIN_ESCAPES) or char in "GXNvc" or (inside and char in "bBAzZRk"):
            raise _refuse(self.pattern, f"the escape '\\{char}'")
        if char == "k":
            return self._named_reference()
        if char == "0":
            octal = regex.match(r"[0-3]?[0-7]{1,2}", self.pattern[self.at :])
            if not octal:
                raise _refuse(self.pattern, "an octal escape without digits")
            self.at += octal.end()
            return regex.escape(chr(int(octal[0], 8)))
        return self._anchor(char)

    def _named_reference(self) -> str:
        name = regex.match(r"<([a-zA-Z][a-zA-Z0-9]*)>", self.pattern[self.at :])
        if not name:
            raise _refuse(self.pattern, "a reference without the name of a group")
        self.at += name.end()
        return f"(?P={name[1]})"

    def _anchor(self, char: str) -> str:
        if char == "z":
            return r"\Z"
        if char == "Z":
            return rf"(?=(?:\r\n|[{_LINE_END}])?\Z)"
        if char == "R":
            return r"(?:\r\n|[\n\x0B\f\r\x85\u2028\u2029])"
        if char == "e":
            return r"\x1B"
        return "\\" + char

    def _property(self, char: str) -> str:
        named = regex.match(r"\{(\w+)\}|([A-Z])", self.pattern[self.at :])
        if not named:
            raise _refuse(self.pattern, "a property without a name")
        self.at += named.end()
        name = named[1] or named[2]
        if name in _POSIX:
            return f"[{'^' if char == 'P' else ''}{_POSIX[name]}]"
        if name.startswith(("java", "In")):
            raise _refuse(self.pattern, f"the property '{name}'")
        self.unicode = True
        return f"\\{char}{{{name.removeprefix('Is')}}}"


@lru_cache(maxsize=256)
def compile_java(pattern: str) -> Any:
    """Compile a Java pattern.

    Raises:
        ConfigError: SMT021, not a regular expression, or one outside the subset.
    """
    try:
        translator = _Translator(pattern)
        text = translator.run()
        return regex.compile(text, regex.V1 | (regex.UNICODE if translator.unicode else regex.ASCII))
    except regex.error as error:
        raise _refuse(pattern, error.msg) from error  # its position is one of the translated pattern


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
            try:
                out.append(match.group(name) or "")
            except IndexError as error:
                raise _bad_replacement(f"there is no group {name}") from error
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


def _bad_replacement(what: str) -> Any:
    hint = "write $1 or ${name} for a group, and \\$ for a dollar sign"
    return data_error("SMT406", f"the replacement cannot be used: {what}", hint)


@dataclass(frozen=True, slots=True)
class Matches(PythonRule):
    """Whether the whole text matches (``Matcher.matches``); null does not."""

    pattern: str

    def python(self, text: str | None) -> bool:
        return text is not None and compile_java(self.pattern).fullmatch(text) is not None


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
        return _bad_replacement("it names a group that the pattern does not have")
