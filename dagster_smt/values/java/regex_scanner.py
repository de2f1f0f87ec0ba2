"""Reads the characters of a Java pattern. The module also reads escapes, properties and classes, which stand for
characters.
"""

from collections.abc import Callable
from functools import partial

from dagster_smt.values.java import regex_classes as classes
from dagster_smt.values.java.regex_classes import Chars

Lazy = Callable[[], Chars]
"""A function that returns the set of characters of a class, such as ``[a-z]``. The function is called only when the
whole pattern has been read, because the set may still grow: in Java, literals after an intersection (``&&``) extend the
set before the intersection.
"""

DECIMAL = set("0123456789")
_OCTAL, _HEX = set("01234567"), set("0123456789abcdefABCDEF")
_BLANKS = set(" \t\n\v\f\r")
_LINE_ENDS = set("\n\r\x85\u2028\u2029")
_CONTROLS = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class RefusedPattern(Exception):
    """Raised for a pattern that Java rejects, or that cannot be translated exactly. The message names the construct."""


def _unquoted(pattern: str) -> list[str]:
    r"""Returns the characters of ``pattern`` without ``\Q`` and ``\E``. As in Java, a backslash is inserted before each
    character between them.
    """
    start = _first_quote(pattern)
    if start < 0:
        return list(pattern)
    out, at, quoted, first = list(pattern[:start]), start + 2, True, True
    while at < len(pattern):
        char, at = pattern[at], at + 1
        if char >= "\x80" or (char.isascii() and char.isalpha()):
            out.append(char)
        elif char.isdigit():
            # As in Java, the first digit becomes an escape: in ``\1\Q2``, it must not extend the reference before the
            # quote.
            out += ["\\", "x", "3", char] if first else [char]
        elif char != "\\":
            out += ["\\", char] if quoted else [char]
        elif quoted:
            if pattern.startswith("E", at):
                at, quoted = at + 1, False
            else:
                out += ["\\", "\\"]
        elif pattern.startswith("Q", at):
            at, quoted, first = at + 1, True, True
            continue
        else:
            out += [char, *pattern[at : at + 1]]
            at += 1
        first = False
    return out


def _first_quote(pattern: str) -> int:
    at = 0
    while at < len(pattern) - 1:
        if pattern[at] != "\\":
            at += 1
        elif pattern[at + 1] != "Q":
            at += 2
        else:
            return at
    return -1


class Scanner:
    """A scanner over the characters of a pattern. If the flag x is set, the scanner skips whitespace and comments."""

    def __init__(self, pattern: str):
        self.chars = _unquoted(pattern)
        self.end, self.at = len(self.chars), 0
        # two end marks, because some rules look two characters ahead
        self.chars += ["\0", "\0"]
        self.flags: frozenset[str] = frozenset()

    def ended(self, char: str) -> bool:
        """Returns True if ``char`` is the end mark, which is a zero character after the last character of the pattern.
        A zero character inside the pattern is not the end mark.
        """
        return char == "\0" and self.at >= self.end

    def peek(self) -> str:
        """Returns the next character without skipping it."""
        while "x" in self.flags and (self.chars[self.at] in _BLANKS or self.chars[self.at] == "#"):
            if self.chars[self.at] != "#":
                self.at += 1
                continue
            stop = {"\n"} if "d" in self.flags else _LINE_ENDS
            self.at += 1
            while self.at < self.end and self.chars[self.at] not in stop and self.chars[self.at] != "\0":
                self.at += 1
            if self.chars[self.at] not in _BLANKS:
                break
        return self.chars[self.at]

    def next(self) -> str:
        """Skips the next character, and returns the character after it."""
        self.at += 1
        return self.peek()

    def read(self) -> str:
        """Returns the next character and skips it."""
        char = self.peek()
        self.at += 1
        return char

    def number(self, base: int, digits: set[str], least: int, most: int) -> int | None:
        """Reads between ``least`` and ``most`` digits, and returns their value in the base ``base``. Returns None if
        there are fewer digits.
        """
        number, count = 0, 0
        while count < most and self.peek() in digits:
            number, count = number * base + int(self.read(), base), count + 1
        if count >= least:
            return number
        return None


class CharReader(Scanner):
    """A reader for escapes that stand for one character, for properties, and for classes."""

    def escaped_char(self, char: str) -> str | None:
        r"""Returns the character that an escape such as ``\x41`` stands for. Returns None for other kinds of
        escapes.
        """
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "0":
            return self._octal()
        if char == "c":
            if self.at >= self.end:
                raise RefusedPattern("the escape '\\c' without a character")
            return chr(ord(self.read()) ^ 64)
        if char == "x":
            return self._hexadecimal()
        if char == "u":
            return self._utf_16()
        if char == "N":
            return self._by_name()
        if char.isascii() and char.isalnum():
            return None
        return char

    def _octal(self) -> str:
        first = self.peek()
        code = self.number(8, _OCTAL, 1, 3 if first in "0123" else 2)
        if code is None:
            raise RefusedPattern("an octal escape without digits")
        return chr(code)

    def _hexadecimal(self) -> str:
        if self.peek() == "{":
            self.next()
            code = self.number(16, _HEX, 1, self.end)
            if code is None or code > classes.LAST or self.read() != "}":
                raise RefusedPattern("the escape '\\x{' without a code point")
            return chr(code)
        code = self.number(16, _HEX, 2, 2)
        if code is None:
            raise RefusedPattern("the escape '\\x' without two digits")
        return chr(code)

    def _utf_16(self) -> str:
        code = self.number(16, _HEX, 4, 4)
        if code is None:
            raise RefusedPattern("the escape '\\u' without four digits")
        if 0xD800 <= code < 0xDC00:
            start = self.at
            if self.read() == "\\" and self.read() == "u":
                low = self.number(16, _HEX, 4, 4)
                if low is None:
                    raise RefusedPattern("the escape '\\u' without four digits")
                if 0xDC00 <= low < 0xE000:
                    return chr(0x10000 + ((code - 0xD800) << 10) + low - 0xDC00)
            self.at = start
        return chr(code)

    def _by_name(self) -> str:
        if self.read() != "{":
            raise RefusedPattern("the escape '\\N' without a name")
        start = self.at
        while self.read() != "}":
            if self.at >= self.end:
                raise RefusedPattern("the escape '\\N' without a name")
        name = "".join(self.chars[start : self.at - 1])
        char = classes.named_char(name)
        if char is None:
            raise RefusedPattern(f"the escape '\\N{{{name}}}'")
        return char

    def property(self) -> Chars:
        r"""Reads a property, ``\p`` or ``\P``, and returns its set. The next character is the backslash."""
        self.at += 1
        negated = self.chars[self.at] == "P"
        braces = self.next() == "{"
        if not braces:
            self.at -= 1
        self.next()
        start = self.at
        if braces:
            while self.at < self.end and self.read() != "}":
                pass
            name = "".join(self.chars[start : self.at - 1])
            if self.chars[self.at - 1] != "}" or not name:
                raise RefusedPattern("a property without a name")
        else:
            name = self.chars[start]
            if self.ended(name):
                raise RefusedPattern("a property without a name")
            self.read()
        chars = classes.prop(name, cases="i" in self.flags, unicode="U" in self.flags)
        if chars is None:
            raise RefusedPattern(f"the property '{name}'")
        if negated:
            return classes.negate(chars)
        return chars

    def clazz(self, consume: bool) -> Lazy:
        """Reads a character class such as ``[a-z]``, and returns a function for its set of characters. The scanner must
        be at the opening bracket. With ``consume``, the closing bracket is also skipped.

        This method also reads the part after ``&&`` in ``[a-z&&b-d]``, which has no opening bracket. In this case, the
        scanner must be at the character before ``b``.
        """
        known: Lazy | None = None
        last: Lazy | None = None
        literals: list[classes.Span] = []
        # the single characters so far: the list grows below, and the class is only built when the pattern is complete
        literal_class, used = partial(classes.of_spans, literals), False
        char, negated = self.next(), False
        if char == "^" and self.chars[self.at - 1] == "[":
            char, negated = self.next(), True
        while True:
            if char == "[":
                last = self.clazz(True)
                known, char = _either(known, last), self.peek()
                continue
            if char == "&":
                char = self.next()
                if char == "&":
                    right = self._right_side()
                    if used:
                        last = literal_class if known is None else last
                        known, used = _either(known, literal_class), False
                    known, last = _both(known, right, last)
                    char = self.peek()
                    continue
                self.at -= 1
            elif self.ended(char):
                raise RefusedPattern("a class is not closed")
            elif char == "]" and (whole := _either(known, literal_class) if used else known):
                if consume:
                    self.next()
                if negated:
                    return partial(_negated, whole)
                return whole
            last = self._range(literals)
            if last is None:
                used = True
            else:
                known = _either(known, last)
            char = self.peek()

    def _right_side(self) -> Lazy | None:
        right, char = None, self.next()
        while char not in "]&":
            if char != "[":
                self.at -= 1
            right = _either(right, self.clazz(char == "["))
            char = self.peek()
        return right

    def _range(self, literals: list[classes.Span]) -> Lazy | None:
        """Reads one part of a class: a character, a range such as ``a-z``, an escape or a property. Returns a function
        for its set of characters. Most single characters are added to ``literals`` instead; the result is then None.
        """
        low = self._class_char()
        if isinstance(low, Chars):
            return partial(_same, low)
        if self.peek() == "-" and self.chars[self.at + 1] not in "[]":
            self.next()
            high = self._class_char(end=True)
            if isinstance(high, Chars) or high < low:
                raise RefusedPattern("an illegal range in a class")
            span = ord(low), ord(high)
            if "i" not in self.flags:
                return partial(_same, classes.of_spans([span]))
            return partial(_same, classes.any_case_range(*span, unicode="u" in self.flags))
        chars = self.literal(low, alone=True)
        # Java collects such characters in a set of bits, which is a part of its own in an intersection
        if ord(low) < 0x100 and chars.spans[-1][1] < 0x100:
            literals += chars.spans
            return None
        return partial(_same, chars)

    def _class_char(self, end: bool = False) -> str | Chars:
        if self.peek() != "\\":
            char = self.chars[self.at]
            self.next()
            return char
        letter = self.chars[self.at + 1]
        if letter in "pP" and not end:
            return self.property()
        # ``\v`` is a vertical tab at either end of a range, and otherwise a set of line ends
        ranged = end or self.chars[self.at + 2] == "-"
        self.at += 2
        if letter == "v" and ranged:
            return "\v"
        if letter in "dDsSwWhHvV":
            return classes.escape(letter, unicode="U" in self.flags)
        char_or_none = self.escaped_char(letter)
        if char_or_none is None:
            raise RefusedPattern(f"the escape '\\{letter}' in a class")
        return char_or_none

    def literal(self, char: str, alone: bool) -> Chars:
        """Returns the characters that the literal character ``char`` matches under the current flags."""
        if "i" not in self.flags:
            return classes.of_spans([(ord(char), ord(char))])
        return classes.any_case(ord(char), unicode="u" in self.flags, alone=alone)


def _same(chars: Chars) -> Chars:
    return chars


def _negated(one: Lazy) -> Chars:
    return classes.negate(one())


def _either(one: Lazy | None, two: Lazy) -> Lazy:
    if one is None or one is two:
        return two
    return lambda: classes.union(one(), two())


def _both(one: Lazy | None, two: Lazy | None, last: Lazy | None) -> tuple[Lazy, Lazy | None]:
    """Returns two functions for an intersection in a class, such as ``[a-z&&[b-d]]``. The first function returns the
    characters of the intersection, here ``b`` to ``d``. The second function returns the characters of the right side.

    Args:
        one: Returns all characters before ``&&``. None if nothing precedes ``&&``; both results are then ``two``.
        two: Returns the characters after ``&&``, which are the right side. None if nothing follows ``&&``; the right
            side is then ``last``, as in Java.
        last: Returns the characters of the last part before ``&&``. For ``[a-cx-z&&]``, this part is ``x-z``. None if
            there is no such part.

    Raises:
        RefusedPattern: Nothing follows ``&&``, and ``one`` or ``last`` is None.
    """
    if one is None:
        if two is None:
            raise RefusedPattern("an intersection of nothing")
        return two, two
    right = last if two is None else two
    if right is None:
        raise RefusedPattern("'&&' at this place in a class")
    return (lambda: classes.intersect(one(), right())), right
