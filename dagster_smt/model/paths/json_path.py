"""JSONPath as Jayway's json-path reads it: names and filters, the part that a condition on one record needs.

| part | means |
|---|---|
| ``$`` | the key or value; it may be left out |
| ``.name``, ``['any name']`` | a field |
| ``[?(test)]`` | an object that passes the test; of an array, the elements that pass it |
| ``@.a.b``, ``!@.a.b`` in a test | the field is there (be it null), or not; ``@`` alone is what the filter looks at |
| ``@.a == 'x'`` | also ``!= === !== < <= > >=``, with a text, a number, ``true``, ``false`` or ``null`` |
| ``@.a in ['x', 1]`` | also ``nin``, with texts, whole numbers, ``true``, ``false`` and ``null`` |
| ``@.a =~ /regex/i`` | the whole text matches an expression of Java |
| ``&&``, ``||``, ``!(…)``, ``(…)`` | and, or, not |

Everything else is refused by name: what json-path makes of it is not known here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

Literal = str | Decimal | bool | None
Names = tuple[str, ...]
_NAME = re.compile(r"[\w$@#:-]+")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE]-?[0-9]+)?(?![\w.])")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?![\w.])")
_REGEX = re.compile(r"/((?:[^/\\]|\\.)*)/(\w*)", re.DOTALL)
_WORD = re.compile(r"(true|false|null)(?!\w)")
_SIGN = re.compile(r"[<>=~!]+")
_LETTERS = re.compile(r"[A-Za-z]+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"r": "\r", "f": "\f", "t": "\t", "n": "\n", "b": "\b"}
_WORDS: dict[str, Literal] = {"true": True, "false": False, "null": None}
COMPARISONS = ("==", "!=", "===", "!==", "<", "<=", ">", ">=")
LISTS = ("in", "nin")
_FLAGS = "dixmsuU"
_MAX_DEPTH = 100
SUBSET = "names ($.a.b, $['any name']) and filters ($.a[?(@.b == 'x' && @.c)]) can be used"


class RefusedJsonPath(ValueError):
    """A text that is no JSONPath, or one with a part that is not supported."""


@dataclass(frozen=True, slots=True)
class There:
    """Whether there is a field, be it null."""

    names: Names


@dataclass(frozen=True, slots=True)
class Compared:
    """A field compared with a literal, or for ``in`` and ``nin`` with several."""

    names: Names
    operator: str
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Matched:
    """Whether the text of a field matches a regular expression of Java."""

    names: Names
    pattern: str


@dataclass(frozen=True, slots=True)
class Not:
    """Whether a test is not passed."""

    test: "Test"


@dataclass(frozen=True, slots=True)
class All:
    """Whether every test is passed."""

    tests: tuple["Test", ...]


@dataclass(frozen=True, slots=True)
class Any:
    """Whether a test is passed."""

    tests: tuple["Test", ...]


Test = There | Compared | Matched | Not | All | Any


@dataclass(frozen=True, slots=True)
class Where:
    """The step of a filter."""

    test: Test


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path of names and filters.

    Attributes:
        text: As the user wrote it.
        steps: From the key or value.
    """

    text: str
    steps: tuple[str | Where, ...]

    @property
    def names(self) -> Names:
        """The names among the steps: all of them in a path without filters."""
        return tuple(step for step in self.steps if isinstance(step, str))

    @property
    def definite(self) -> bool:
        """Whether the path leads to one value at most."""
        return len(self.names) == len(self.steps)


def tests_in(test: Test) -> Iterator[There | Compared | Matched]:
    """The tests of fields in a test."""
    if isinstance(test, Not):
        yield from tests_in(test.test)
    elif isinstance(test, All | Any):
        for part in test.tests:
            yield from tests_in(part)
    else:
        yield test


def parse_json_path(text: str) -> JsonPath:
    """Parse a path.

    Raises:
        RefusedJsonPath: It is none, or has a part that is not supported.
    """
    reader = _Reader(text)
    steps = reader.path()
    if reader.rest:
        reader.refuse("a dot or a bracket must follow")
    return JsonPath(text, steps)


class _Reader:
    """Reads one path; ``at`` is where the next part begins."""

    def __init__(self, text: str):
        self.text, self.at, self.depth = text, 0, 0

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def refuse(self, what: str) -> NoReturn:
        raise RefusedJsonPath(f"'{self.text}' is no JSONPath that can be used: {what} (position {self.at})")

    def take(self, word: str) -> bool:
        """Go beyond a word, if it is the next."""
        found = self.text.startswith(word, self.at)
        self.at += len(word) if found else 0
        return found

    def need(self, word: str) -> None:
        if not self.take(word):
            self.refuse(f"'{word}' must follow")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Go beyond what a pattern finds here."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def blanks(self) -> None:
        while self.rest[:1] == " ":
            self.at += 1

    def path(self) -> tuple[str | Where, ...]:
        rooted = self.rest[:1] == "$" and self.text[self.at + 1 : self.at + 2] in ("", ".", "[")
        steps: list[str | Where] = []
        if rooted:
            self.at += 1
        elif self.rest[:1] != "[":
            steps.append(self.name())
        while self.rest[:1] in (".", "[") and self.rest:
            steps.append(self.step())
        return tuple(steps)

    def step(self) -> str | Where:
        if self.rest.startswith(".."):
            self.refuse("a deep scan (..) is not supported")
        self.take(".")
        if not self.take("["):
            return self.name()
        self.blanks()
        step = self.filter() if self.rest[:1] == "?" else self.quoted_name()
        self.blanks()
        self.need("]")
        return step

    def name(self) -> str:
        if self.rest[:1] == "*":
            self.refuse("a wildcard (*) is not supported")
        found = self.match(_NAME)
        if not found:
            self.refuse("a name must follow; one of other signs stands in brackets and quotes")
        if self.rest[:1] == "(":
            self.refuse(f"the function {found[0]}() is not supported")
        if found[0].startswith("@"):
            self.refuse("'@' has a meaning in filters only")
        return found[0]

    def quoted_name(self) -> str:
        if self.rest[:1] == "*":
            self.refuse("a wildcard ([*]) is not supported")
        if self.rest[:1] in "-:0123456789" and self.rest:
            self.refuse("an index or a slice of an array is not supported")
        name = self.quoted()
        self.blanks()
        if self.rest[:1] == ",":
            self.refuse("several names in brackets are not supported")
        return name

    def quoted(self) -> str:
        found = self.match(_QUOTED)
        if not found:
            self.refuse("a text in quotes must follow")
        return _unescaped(found[1] if found[1] is not None else found[2])

    def filter(self) -> Where:
        self.need("?")
        self.blanks()
        if self.rest[:1] != "(":
            self.refuse("a filter has parentheses: [?(…)]")
        self.need("(")
        test = self.either()
        self.need(")")
        return Where(test)

    def either(self) -> Test:
        tests = [self.both()]
        while self.take("||"):
            tests.append(self.both())
        if len(tests) == 1:
            return tests[0]
        return Any(tuple(tests))

    def both(self) -> Test:
        tests = [self.operand()]
        while self.take("&&"):
            tests.append(self.operand())
        if len(tests) == 1:
            return tests[0]
        return All(tuple(tests))

    def operand(self) -> Test:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.refuse("its tests are nested too deeply")
        self.blanks()
        if self.take("!"):
            test = self.negated()
        elif self.take("("):
            test = self.grouped()
        else:
            test = self.comparison()
        self.blanks()
        self.depth -= 1
        return test

    def grouped(self) -> Test:
        test = self.either()
        self.need(")")
        return test

    def negated(self) -> Test:
        self.blanks()
        test = self.operand()
        if isinstance(test, Compared | Matched) and self.text[: self.at].rstrip()[-1] != ")":
            self.refuse("'!' before a comparison: put the comparison into parentheses")
        return Not(test)

    def comparison(self) -> Test:
        names = self.field()
        end = self.at
        self.blanks()
        if self.rest[:2] in ("&&", "||") and self.at == end:
            self.refuse("a blank must be between a name and && or ||")
        if self.rest[:1] in (")", "&", "|"):
            return There(names)
        sign = self.match(_SIGN) or self.match(_LETTERS)
        operator = sign[0].lower() if sign else ""
        self.blanks()
        if operator == "=~":
            return Matched(names, self.pattern())
        if operator in LISTS:
            return Compared(names, operator, self.literals())
        if operator not in COMPARISONS:
            self.refuse(f"the operator '{operator}' is not supported" if operator else "an operator must follow")
        return Compared(names, operator, (self.literal(),))

    def field(self) -> Names:
        if self.rest[:1] == "$":
            self.refuse("a path from the root ($) in a filter is not supported")
        if not self.take("@"):
            self.refuse("a field (@.name) must follow; it stands before the operator")
        names: list[str] = []
        while self.rest[:1] in (".", "[") and self.rest:
            step = self.step()
            if isinstance(step, Where):
                self.refuse("a filter inside a filter is not supported")
            names.append(step)
        return tuple(names)

    def literal(self) -> Literal:
        word = self.match(_WORD)
        if word:
            return _WORDS[word[1]]
        if self.rest[:1] in ("'", '"'):
            return self.quoted()
        number = self.match(_NUMBER)
        if number:
            return Decimal(number[0])
        if self.rest[:1] in ("@", "$"):
            self.refuse("a comparison of two fields is not supported")
        if self.rest[:1] in ("[", "{"):
            self.refuse("a comparison with an array or object is not supported")
        self.refuse("a text in quotes, a number, true, false or null must follow")

    def literals(self) -> tuple[Literal, ...]:
        self.need("[")
        found = [self.element()]
        while self.take(","):
            found.append(self.element())
        self.need("]")
        return tuple(found)

    def element(self) -> Literal:
        self.blanks()
        start, word = self.at, self.match(_WORD)
        whole = None if word else self.match(_WHOLE)
        found: Literal
        if word:
            found = _WORDS[word[1]]
        elif whole:
            found = Decimal(whole[0])
        else:
            found = self.quoted()
            if "\\" in self.text[start : self.at] or found[:1] in ("$", "@", "[", "{", "'", '"'):
                self.refuse("json-path reads a text in a list anew: one with a backslash or such a beginning")
        self.blanks()
        return found

    def pattern(self) -> str:
        found = self.match(_REGEX)
        if not found:
            self.refuse("a regular expression between slashes must follow")
        strange = [flag for flag in found[2] if flag not in _FLAGS]
        if strange:
            self.refuse(f"'{strange[0]}' is no flag of a regular expression")
        if found[2]:
            return f"(?{found[2]}){found[1]}"
        return found[1]


def _unescaped(text: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return _ESCAPED.get(found[2], found[2])

    return _ESCAPE.sub(replaced, text)
