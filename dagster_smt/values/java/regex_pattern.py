"""Parses a regular expression as Java 17 does, and translates it into the syntax of ``regex``.

The flags of ``regex`` differ from Java's. So the translated expression itself contains the effect of each flag.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from dagster_smt.values.java import regex_classes as classes
from dagster_smt.values.java import regex_nodes as nodes
from dagster_smt.values.java.regex_nodes import Node, Quantifier
from dagster_smt.values.java.regex_scanner import DECIMAL, CharReader, RefusedPattern

_SPECIAL = set("$.^([|)")
_LONE = re.compile(r"\[\^(\w|\\x..|\\u.{4}|\\U.{8})\]")
"""Matches a class that contains all characters except one, such as ``[^a]``.

``regex`` has a fast path for such a class. If two alternatives are such classes, the fast path has a defect and matches
nothing. To avoid the fast path, the character is written twice.
"""
_DEEPEST = 100
_LONGEST = 50_000  # the largest number of characters in repetitions, which ``regex`` expands


@dataclass(frozen=True, slots=True)
class Translation:
    """The result of translating a Java pattern into a pattern of ``regex``.

    Attributes:
        text: The pattern.
        ascii_only: True if the pattern needs the flag ``ASCII``, because it refers to a group under the flag i (ignore
            case).
        unsure: The numbers of the groups whose content may differ from Java's. The match of the whole pattern is always
            the same as Java's.
    """

    text: str
    ascii_only: bool
    unsure: frozenset[int]


def translate(pattern: str) -> Translation:
    """Translates the Java pattern ``pattern`` into the syntax of ``regex``.

    Raises:
        RefusedPattern: Java rejects the pattern, or it cannot be translated exactly.
    """
    # Java's strings are UTF-16, so two halves of a surrogate pair in the pattern are one character
    reader = _PatternReader(pattern.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))
    try:
        node = reader.read_all()
    except IndexError:
        raise RefusedPattern("it ends too early") from None
    numbers = []
    for number, held in node.groups.items():
        if held.stale and not held.always:
            numbers.append(number)
    unsure = frozenset(numbers)
    # a reference to a group that never exists is not an error: in Java, it never matches
    if reader.early & set(range(1, reader.groups + 1)):
        raise RefusedPattern("a reference to a group that is not closed yet")
    if reader.referenced & unsure:
        raise RefusedPattern("a reference to a group that may keep a text of a failed attempt in Java")
    if node.least > _LONGEST:
        raise RefusedPattern(f"repetitions of more than {_LONGEST} characters")
    if reader.ascii_references and "\\p{" in node.text.lower():
        raise RefusedPattern("a reference under the flag i together with a Unicode property or \\b")
    text = _LONE.sub(r"[^\1\1]", node.text) if "|" in node.text else node.text
    return Translation(text, reader.ascii_references, unsure)


class _PatternReader(CharReader):
    """A reader that translates a whole Java pattern into the syntax of ``regex``."""

    def __init__(self, pattern: str):
        super().__init__(pattern)
        self.groups, self.names, self.depth = 0, dict[str, int](), 0
        self.open, self.early, self.referenced = set[int](), set[int](), set[int]()
        self.ascii_references = False

    def read_all(self) -> Node:
        """Returns the translation of the whole pattern."""
        node = self.expression()
        if self.at != self.end:
            raise RefusedPattern("unbalanced parenthesis")
        return node

    def expression(self) -> Node:
        """Reads alternatives up to the end of the group or pattern, and returns them as one part."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise RefusedPattern("too many nested groups")
        ways = [self.sequence()]
        while self.peek() == "|":
            self.next()
            ways.append(self.sequence())
        self.depth -= 1
        return nodes.branch(ways)

    def sequence(self) -> Node:
        """Reads one alternative, such as ``ab`` in ``ab|c``, and returns it as a single part."""
        parts: list[Node] = []
        while True:
            char = self.peek()
            if char in "|)" or self.ended(char):
                return nodes.chain(parts)
            if char == "(":
                group = self.group()
                parts += [group] if group else []
                continue
            if char in "?*+":
                raise RefusedPattern("multiple repeat" if parts else "nothing to repeat")
            parts.append(self.quantified(self.part(char)))

    def part(self, char: str) -> Node:
        """Reads the next part, whose first character is ``char``, and the quantifier after it, if there is one."""
        if char == "[":
            return nodes.of_chars(self.clazz(True)())
        if char not in "^$.":
            return self.literals()
        self.next()
        many, unix = "m" in self.flags, "d" in self.flags
        if char == ".":
            ends = "\n" if unix else "\n\r\x85\u2028\u2029"
            return nodes.of_chars(classes.negate(classes.of("" if "s" in self.flags else ends)))
        if char == "^":
            return nodes.caret(many, unix)
        return nodes.dollar(many, unix)

    def literals(self) -> Node:
        """Reads literal characters up to the next part of another kind: ``abc`` in ``abc[0-9]``. If an escape such as
        ``\\d`` comes first, reads only this escape.

        A quantifier after several characters applies only to the last one. In ``ab*``, this method therefore reads only
        ``a``.
        """
        run: list[str] = []
        before, char = self.at, self.peek()
        while char not in _SPECIAL and not self.ended(char):
            if char in "*+?{":
                if len(run) > 1:
                    self.at = before
                    run.pop()
                break
            start = self.at
            if char == "\\":
                escape = self.escape(run)
                if isinstance(escape, Node):
                    if not run:
                        return escape
                    self.at = start
                    break
                literal, char = escape, self.peek()
            else:
                literal, char = char, self.next()
            run.append(literal)
            before = start
        single = len(run) == 1
        return nodes.chain([nodes.of_chars(self.literal(char, alone=single)) for char in run])

    def escape(self, run: list[str]) -> str | Node:
        """Reads an escape, whose backslash is the next character. Returns a literal character, or a part for any other
        escape. ``run`` contains the literal characters that were read before.
        """
        letter = self.chars[self.at + 1]
        if letter in "pP":
            # only a signal that the run of literals ends here; the next call reads the property
            if run:
                return Node()
            return nodes.of_chars(self.property())
        self.at += 2
        if self.at > self.end:
            raise RefusedPattern("it ends with a lone backslash")
        if letter in "dDsSwWhHvV":
            return nodes.of_chars(classes.escape(letter, unicode="U" in self.flags))
        if letter in "123456789":
            return self.reference(self.numbered(int(letter)))
        if letter == "k":
            return self.reference(self.number_of_name())
        char = self.escaped_char(letter)
        if char is None:
            return self.assertion(letter)
        return char

    def assertion(self, letter: str) -> Node:
        """Returns the part for an escape that does not match exactly one character, such as the word boundary ``b`` or
        the line break ``R``. ``letter`` is the letter of the escape.
        """
        if letter in "AG":  # \G has the same meaning as \A, because this package never continues a search
            return Node(r"\A")
        if letter == "z":
            return Node(r"\Z")
        if letter == "Z":
            return nodes.dollar(False, "d" in self.flags)
        if letter == "R":
            return nodes.line_break()
        if letter == "X":
            return nodes.cluster()
        if letter in "bB":
            if letter == "b" and self.peek() == "{" and self.chars[self.at + 1] == "g":
                raise RefusedPattern("the escape '\\b{g}'")
            return nodes.boundary(letter == "B", "U" in self.flags)
        raise RefusedPattern(f"the escape '\\{letter}'")

    def numbered(self, number: int) -> int:
        """Returns the number of the group to which a reference refers. The reference begins with the digit ``number``.

        A further digit belongs to the reference only if the pattern already has a group with the resulting number. For
        example, if the pattern has 5 groups so far, ``\\12`` refers to group 1, and the 2 is a literal character.
        """
        while self.peek() in DECIMAL and number * 10 + int(self.peek()) <= self.groups:
            number = number * 10 + int(self.read())
        return number

    def number_of_name(self) -> int:
        """Reads the name of a group in a reference, and returns the group's number."""
        name = self.name() if self.read() == "<" else None
        if name is None:
            raise RefusedPattern("a reference without the name of a group")
        if name not in self.names:
            raise RefusedPattern("unknown group")
        return self.names[name]

    def name(self) -> str | None:
        """Reads the name of a group and the bracket after it. Returns None if there is no valid name."""
        name = self.read()
        if not (name.isascii() and name.isalpha()):
            return None
        while (char := self.read()).isascii() and char.isalnum():
            name += char
        if char == ">":
            return name
        return None

    def reference(self, number: int) -> Node:
        """Returns a part that matches the same text as the group ``number`` has matched. If the group has no match, the
        part never matches.
        """
        if number > self.groups or number in self.open:
            self.early.add(number)
            return Node("(?!)", unit=True, most=None)
        self.referenced.add(number)
        if "i" not in self.flags:
            return Node(rf"\g<{number}>", unit=True, most=None)
        if "u" in self.flags:
            raise RefusedPattern("a reference under the flags i and u")
        self.ascii_references = True
        return Node(rf"(?i:\g<{number}>)", unit=True, most=None)

    def quantified(self, node: Node) -> Node:
        """Returns ``node`` with the quantifier that follows, if there is one."""
        times = self.quantifier()
        if times is None:
            return node
        return nodes.repeat(node, times)

    def quantifier(self) -> Quantifier | None:
        """Reads the next quantifier. Returns None if a different part comes next."""
        char = self.peek()
        if char not in "?*+{":
            return None
        low, high = {"?": (0, 1), "*": (0, nodes.UNLIMITED), "+": (1, nodes.UNLIMITED)}.get(char) or self.counts()
        mode = self.next()
        if mode not in "?+":
            return Quantifier(low, high, "")
        self.next()
        return Quantifier(low, high, mode)

    def counts(self) -> tuple[int, int]:
        """Reads the minimum and the maximum between braces. Stops before the closing brace."""
        self.at += 1
        if self.chars[self.at] not in DECIMAL:
            raise RefusedPattern("a '{' that does not begin a repetition")
        low = high = self.number(10, DECIMAL, 1, self.end) or 0
        if self.peek() == ",":
            self.read()
            bare = self.peek() == "}"
            if bare:
                high = nodes.UNLIMITED
            else:
                high = self.number(10, DECIMAL, 0, self.end) or 0
        if self.peek() != "}":
            raise RefusedPattern("a '{' that does not begin a repetition")
        if not low <= high <= nodes.UNLIMITED:
            raise RefusedPattern("an illegal repetition range")
        return low, high

    def group(self) -> Node | None:
        """Reads a group, and returns it. Returns None for ``(?i)``, whose flags apply up to the end of the surrounding
        group.
        """
        flags, start = self.flags, self.at
        opening, number = self.opening()
        if not opening:
            return None
        body = self.expression()
        if self.read() != ")":
            raise RefusedPattern("missing )")
        # flags that are set inside a group end with the group
        self.flags = flags
        if number is not None:
            self.open.remove(number)
        if opening in ("(?=", "(?!", "(?<=", "(?<!"):
            self._check_look_behind(opening, body, start)
            return self.quantified(nodes.look(opening, body))
        if opening == "(?>":
            return self.quantified(nodes.atomic(body))
        return nodes.group(opening, body, number, self.quantifier())

    def _check_look_behind(self, opening: str, body: Node, start: int) -> None:
        """Raises an error for a look-behind with an escaped character beyond ``\\uFFFF``.

        Java stores such a character as two 16-bit units. A look-behind in Java moves back by one unit, which is half a
        character. If the look-behind, or the pattern after it, also contains an unescaped character beyond
        ``\\uFFFF``, Java moves back by whole characters, and no error is raised.
        """
        whole = all(char <= "\uffff" for char in self.chars[start:])
        if (
            "<" in opening
            and whole
            and not body.final
            and ("\\U" in body.text or any(char > "\uffff" for char in body.text))
        ):
            raise RefusedPattern("a look-behind for an escaped character beyond \\uFFFF")

    def opening(self) -> tuple[str, int | None]:
        """Reads the beginning of a group, such as ``(``, ``(?:`` or ``(?<name>``. Returns the beginning in the syntax
        of ``regex``, and the number of the group. The number is None if the group does not capture its match.

        For ``(?i)``, the beginning is an empty string.
        """
        start = self.at
        if self.next() != "?":
            return "(", self.capturing()
        kind = self.chars[self.at + 1]
        self.at += 2
        if kind in ":=!>":
            return f"(?{kind}", None
        if kind != "<":
            self.at -= 1
            return self.inline_flags(start), None
        if self.peek() in "=!":
            return f"(?<{self.read()}", None
        name = self.name()
        if name is None:
            raise RefusedPattern(self._beginning(start))
        if name in self.names:
            raise RefusedPattern(f"two groups of the name '{name}'")
        self.names[name] = self.capturing()
        return f"(?P<{name}>", self.names[name]

    def _beginning(self, start: int) -> str:
        return f"the group '{''.join(self.chars[start : min(start + 4, self.end)])}'"

    def capturing(self) -> int:
        """Registers the capturing group that begins here, and returns its number."""
        self.groups += 1
        self.open.add(self.groups)
        return self.groups

    def inline_flags(self, start: int) -> str:
        """Reads and applies the flags of a group, such as the ``i`` in ``(?i:``. Returns ``(?:`` if the group has
        content. Returns an empty string for ``(?i)``, whose flags apply to the rest of the surrounding group.
        """
        change: Callable[[frozenset[str], set[str]], frozenset[str]] = frozenset.union
        char = self.peek()
        while char in "imsdxuUc-":
            if char == "c":
                raise RefusedPattern("the flag c")
            if char != "-":
                # as in Java, the flag U includes the flag u
                self.flags = change(self.flags, {"U", "u"} if char == "U" else {char})
            elif change is frozenset.difference:
                break
            else:
                change = frozenset.difference
            char = self.next()
        end = self.read()
        if end not in ":)":
            raise RefusedPattern(self._beginning(start))
        if end == ":":
            return "(?:"
        return ""
