"""Parses JSONPath with the meaning of Jayway's json-path. Only names and filters are supported, because a condition
needs nothing else.

| part | meaning |
|---|---|
| ``$`` | the key or value; it is optional |
| ``.name``, ``['any name']`` | a field |
| ``[?(test)]`` | an object that passes the test; of an array, the elements that pass it |
| ``@.a.b``, ``!@.a.b`` in a test | the field exists (it may be null), or not; ``@`` alone is the value under test |
| ``@.a == 'x'`` | also ``!= === !== < <= > >=``, with a string, a number, ``true``, ``false`` or ``null`` |
| ``@.a in ['x', 1]`` | also ``nin``, with strings, whole numbers, ``true``, ``false`` and ``null`` |
| ``@.a =~ /regex/i`` | the whole string matches a Java regular expression |
| ``&&``, ``||``, ``!(…)``, ``(…)`` | and, or, not |

Other parts of JSONPath, such as ``..``, ``*`` and functions, are rejected with an error that names the part. No test
data shows what Jayway returns for these parts. Decision 32 explains why this package does not use a library.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

Literal = str | Decimal | bool | None
Names = tuple[str, ...]
# json-path also reads names such as $oid and a:b without quotes
_NAME = re.compile(r"[\w$@#:-]+")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
# the lookaheads exclude what only begins like a number or a word: 1. and nullable
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
    """Raised for a string that is not a JSONPath, or for an unsupported part of a JSONPath."""


@dataclass(frozen=True, slots=True)
class Exists:
    """A test that is true if a field exists. The field may be null."""

    names: Names


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test that compares a field with a literal. For ``in`` and ``nin``, there are several literals."""

    names: Names
    operator: str
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class RegexMatch:
    """A test that is true if a string field matches a Java regular expression."""

    names: Names
    pattern: str


@dataclass(frozen=True, slots=True)
class NotTest:
    """A test that is true if another test fails."""

    test: "Test"


@dataclass(frozen=True, slots=True)
class AllTests:
    """A test that is true if every one of several tests passes."""

    tests: tuple["Test", ...]


@dataclass(frozen=True, slots=True)
class AnyTest:
    """A test that is true if at least one of several tests passes."""

    tests: tuple["Test", ...]


Test = Exists | Comparison | RegexMatch | NotTest | AllTests | AnyTest


@dataclass(frozen=True, slots=True)
class FilterStep:
    """A step that selects values by a test, such as ``[?(@.a == 1)]``."""

    test: Test


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path of names and filters.

    Attributes:
        text: The path as the user wrote it.
        steps: The steps, from the key or value.
    """

    text: str
    steps: tuple[str | FilterStep, ...]

    @property
    def names(self) -> Names:
        """The names in the path. If the path has no filters, these are all its steps."""
        return tuple(step for step in self.steps if isinstance(step, str))

    @property
    def definite(self) -> bool:
        """True if the path matches at most one value."""
        return len(self.names) == len(self.steps)


def tests_in(test: Test) -> Iterator[Exists | Comparison | RegexMatch]:
    """Yields the simple tests inside ``test``, without ``&&``, ``||`` and ``!``. Each of them tests one field, such as
    ``@.a == 1``.
    """
    if isinstance(test, NotTest):
        yield from tests_in(test.test)
    elif isinstance(test, AllTests | AnyTest):
        for part in test.tests:
            yield from tests_in(part)
    else:
        yield test


def parse_json_path(text: str) -> JsonPath:
    """Parses the JSONPath ``text``.

    Raises:
        RefusedJsonPath: The string is not a JSONPath, or contains an unsupported part.
    """
    reader = _JsonPathReader(text)
    steps = reader.path()
    if reader.rest:
        reader.refuse("a dot or a bracket must follow")
    return JsonPath(text, steps)


class _JsonPathReader:
    """A reader of one path. ``at`` is the position at which the next part begins."""

    def __init__(self, text: str):
        self.text, self.at, self.depth = text, 0, 0

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def refuse(self, what: str) -> NoReturn:
        raise RefusedJsonPath(f"'{self.text}' cannot be used as a JSONPath: {what} (position {self.at})")

    def take(self, word: str) -> bool:
        """If ``word`` is next in the path, skips it and returns True."""
        if not self.text.startswith(word, self.at):
            return False
        self.at += len(word)
        return True

    def need(self, word: str) -> None:
        if not self.take(word):
            self.refuse(f"'{word}' must follow")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Skips the text that ``pattern`` matches at this position, and returns the match; None if there is no
        match.
        """
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def blanks(self) -> None:
        while self.rest[:1] == " ":
            self.at += 1

    def path(self) -> tuple[str | FilterStep, ...]:
        # $ is the root only before a dot, a bracket or the end: $oid is the field of this name
        rooted = self.rest[:1] == "$" and self.text[self.at + 1 : self.at + 2] in ("", ".", "[")
        steps: list[str | FilterStep] = []
        if rooted:
            self.at += 1
        elif self.rest[:1] != "[":
            steps.append(self.name())
        while self.rest[:1] in (".", "["):
            steps.append(self.step())
        return tuple(steps)

    def step(self) -> str | FilterStep:
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
        match = self.match(_NAME)
        if not match:
            self.refuse("a name must follow; put a name with other characters into brackets and quotes")
        if self.rest[:1] == "(":
            self.refuse(f"the function {match[0]}() is not supported")
        if match[0].startswith("@"):
            self.refuse("'@' has a meaning in filters only")
        return match[0]

    def quoted_name(self) -> str:
        if self.rest[:1] == "*":
            self.refuse("a wildcard ([*]) is not supported")
        # the end of the path is excluded separately, because every string contains the empty string
        if self.rest[:1] in "-:0123456789" and self.rest:
            self.refuse("an index or a slice of an array is not supported")
        name = self.quoted()
        self.blanks()
        if self.rest[:1] == ",":
            self.refuse("several names in brackets are not supported")
        return name

    def quoted(self) -> str:
        match = self.match(_QUOTED)
        if not match:
            self.refuse("a text in quotes must follow")
        return _unescaped(match[1] if match[1] is not None else match[2])

    def filter(self) -> FilterStep:
        self.need("?")
        self.blanks()
        if self.rest[:1] != "(":
            self.refuse("a filter has parentheses: [?(…)]")
        self.need("(")
        test = self.either()
        self.need(")")
        return FilterStep(test)

    def either(self) -> Test:
        tests = [self.both()]
        while self.take("||"):
            tests.append(self.both())
        if len(tests) == 1:
            return tests[0]
        return AnyTest(tuple(tests))

    def both(self) -> Test:
        tests = [self.operand()]
        while self.take("&&"):
            tests.append(self.operand())
        if len(tests) == 1:
            return tests[0]
        return AllTests(tuple(tests))

    def operand(self) -> Test:
        self.depth += 1
        # each parenthesis is a level of Python's recursion, which has a limit
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
        # !@.a == 1 is refused, and !(@.a == 1) is not: the last character shows whether parentheses enclose the
        # comparison
        if isinstance(test, Comparison | RegexMatch) and self.text[: self.at].rstrip()[-1] != ")":
            self.refuse("'!' before a comparison: put the comparison into parentheses")
        return NotTest(test)

    def comparison(self) -> Test:
        names = self.field()
        end = self.at
        self.blanks()
        if self.rest[:2] in ("&&", "||") and self.at == end:
            self.refuse("a blank must be between a name and && or ||")
        if self.rest[:1] in (")", "&", "|"):
            return Exists(names)
        # the whole run of signs or letters is read, so that the error can name an operator such as "=" or "contains"
        sign = self.match(_SIGN) or self.match(_LETTERS)
        operator = sign[0].lower() if sign else ""
        self.blanks()
        if operator == "=~":
            return RegexMatch(names, self.pattern())
        if operator in LISTS:
            return Comparison(names, operator, self.literals())
        if operator not in COMPARISONS:
            self.refuse(f"the operator '{operator}' is not supported" if operator else "an operator must follow")
        return Comparison(names, operator, (self.literal(),))

    def field(self) -> Names:
        if self.rest[:1] == "$":
            self.refuse("a path from the root ($) in a filter is not supported")
        if not self.take("@"):
            self.refuse("a field (@.name) must follow; write the field before the operator")
        names: list[str] = []
        while self.rest[:1] in (".", "["):
            step = self.step()
            if isinstance(step, FilterStep):
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
        literals = [self.element()]
        while self.take(","):
            literals.append(self.element())
        self.need("]")
        return tuple(literals)

    def element(self) -> Literal:
        self.blanks()
        start, word = self.at, self.match(_WORD)
        whole = None if word else self.match(_WHOLE)
        element: Literal
        if word:
            element = _WORDS[word[1]]
        elif whole:
            element = Decimal(whole[0])
        else:
            element = self.quoted()
            if "\\" in self.text[start : self.at] or element[:1] in ("$", "@", "[", "{", "'", '"'):
                self.refuse("json-path parses a text in a list a second time if it has a backslash or begins like this")
        self.blanks()
        return element

    def pattern(self) -> str:
        match = self.match(_REGEX)
        if not match:
            self.refuse("a regular expression between slashes must follow")
        for flag in match[2]:
            if flag not in _FLAGS:
                self.refuse(f"'{flag}' is not a flag of a regular expression")
        if match[2]:
            return f"(?{match[2]}){match[1]}"
        return match[1]


def _unescaped(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPED.get(match[2], match[2])

    return _ESCAPE.sub(replaced, text)
