"""Builds the parts of a Java regular expression in the syntax of ``regex``. For each part, the module also computes the
properties that Java derives.

Java and ``regex`` try the same alternatives in the same order. After a failed attempt, however, the contents of groups
may differ. The difference arises in parts that are matched without backtracking: look-arounds, atomic and possessive
parts, and repeated groups that can match in only one way. Java keeps what a group has matched inside such a part, while
``regex`` restores the former match. The content of such a group is reliable only if every match sets the group again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dagster_smt.values.java.regex_classes import WORD, Chars, intersect, negate, of, of_spans, rule, union
from dagster_smt.values.java.regex_scanner import RefusedPattern

UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class CapturingGroup:
    """The properties of a capturing group.

    Attributes:
        always: True if each match of the pattern sets the group.
        stale: True if Java may keep a match of the group from a failed attempt.
        late: True if the group itself is repeated, such as ``(a)*``, and Java may set the group once more after its
            last repetition. If a group around a late group is also repeated, the late group becomes stale.
    """

    always: bool = True
    stale: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern, which ``regex`` can match.

    Attributes:
        text: The part as an expression of ``regex``.
        unit: True if a quantifier can follow the expression without a group.
        least: The minimum number of characters that the part matches.
        most: The maximum number of characters, as counted by Java; None if Java does not know it.
        one_way: True if the part can match in only one way, according to Java's analysis.
        final: True if the part contains something that is matched without backtracking.
        breaks: True if the part contains ``\\R``, which can match in two ways, although Java's analysis counts one.
        groups: The capturing groups in the part.
    """

    text: str = ""
    unit: bool = False
    least: int = 0
    most: int | None = 0
    one_way: bool = True
    final: bool = False
    breaks: bool = False
    groups: Mapping[int, CapturingGroup] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quantifier:
    """The quantifier of a part: the minimum and the maximum number of repetitions. ``mode`` is empty (greedy), ``?``
    (reluctant) or ``+`` (possessive).
    """

    low: int
    high: int
    mode: str

    def text(self) -> str:
        """Returns the quantifier in the syntax of ``regex``."""
        if self.low == self.high:
            count = f"{{{self.low}}}"
        else:
            count = f"{{{self.low},{self.high}}}"
        if self.high >= UNLIMITED:
            count = {0: "*", 1: "+"}.get(self.low, f"{{{self.low},}}")
        return ("?" if (self.low, self.high) == (0, 1) else count) + self.mode


def of_chars(chars: Chars) -> Node:
    """Returns a part that matches any one character of the set ``chars``."""
    return Node(chars.text(), unit=True, least=1, most=1)


def chain(nodes: list[Node]) -> Node:
    """Returns a part that matches the parts ``nodes`` one after the other."""
    if len(nodes) == 1:
        return nodes[0]
    known = [node.most for node in nodes if node.most is not None]
    return Node(
        "".join(node.text for node in nodes),
        least=sum(node.least for node in nodes),
        most=sum(known) if len(known) == len(nodes) else None,
        one_way=all(node.one_way for node in nodes),
        final=any(node.final for node in nodes),
        breaks=any(node.breaks for node in nodes),
        groups={number: held for node in nodes for number, held in node.groups.items()},
    )


def branch(nodes: list[Node]) -> Node:
    """Returns a part that matches one of the alternatives ``nodes``. The alternatives are inside a group or at the top
    level.
    """
    if len(nodes) == 1:
        return nodes[0]
    known = [node.most for node in nodes if node.most is not None]
    whole = chain(nodes)
    return replace(
        whole,
        text="|".join(node.text for node in nodes),
        least=min(node.least for node in nodes),
        most=max(known) if len(known) == len(nodes) else None,
        one_way=False,
        groups=_held(whole.groups, always=False),
    )


def _held(groups: Mapping[int, CapturingGroup], always: bool = True, stale: bool = False) -> dict[int, CapturingGroup]:
    groups_of_parts = {}
    for n, held in groups.items():
        groups_of_parts[n] = replace(held, always=held.always and always, stale=held.stale or stale)
    return groups_of_parts


def repeat(node: Node, times: Quantifier) -> Node:
    """Returns the part ``node``, which is not a group, repeated as ``times`` states.

    If ``node.breaks`` is true, Java does not backtrack into an earlier repetition of the part, so the result is an
    atomic group.
    """
    low, high = times.low, times.high
    if not node.text or (node.least == 0 and node.most == 0 and not node.groups):
        one_way = node.one_way and low == high
        if low:
            return replace(node, one_way=one_way)
        return Node(one_way=one_way)
    # For one character with * or +, Java has a maximum length (``CharPropertyGreedy``), so ``(?<=a*)x`` is permitted.
    # Next to other parts, the sum exceeds an int.
    greedy = node.unit and not times.mode and high == UNLIMITED
    once = (low, high) == (0, 1)
    if node.most is None:
        most = None
    elif greedy:
        most = UNLIMITED
    else:
        most = node.most * high
    if node.breaks:
        text = f"(?>{node.text})"
    elif node.unit:
        text = node.text
    else:
        text = f"(?:{node.text})"
    return replace(
        node,
        text=text + times.text(),
        unit=False,
        least=node.least * low,
        most=most if greedy or most is None or most <= UNLIMITED else None,
        one_way=node.one_way and low == high and not (greedy or once),
        final=node.final or node.breaks or times.mode == "+",
        breaks=False,
        groups=_held(node.groups, always=low == high > 0),
    )


def group(opening: str, body: Node, number: int | None, times: Quantifier | None) -> Node:
    """Returns a group with the content ``body``. The group is repeated as ``times`` states; None means that it is not
    repeated. The group captures its match if ``number`` is not None.
    """
    own = {} if number is None else {number: CapturingGroup()}
    if times is None:
        if number is None and body.unit:
            text = body.text
        else:
            text = f"{opening}{body.text})"
        return replace(body, text=text, unit=True, groups={**body.groups, **own})
    low, high, fixed = times.low, times.high, times.low == times.high > 0
    final = times.mode == "+"
    once = (low, high) == (0, 1)
    # Java repeats such a group in a loop (``GroupCurly``), and does not try other ways to match a repetition.
    counted = body.one_way and not once and not final
    # in Java, a repetition that matches nothing ends the loop
    if low > 1 and body.least == 0 and not counted and not final:
        raise RefusedPattern("a group that may be empty and is repeated at least twice")
    if final or (counted and body.breaks):
        inner = f"(?>{body.text})"
    else:
        inner = body.text
    if number is None and body.unit and inner == body.text:
        opening, closing = "", ""
    else:
        closing = ")"
    if counted:
        groups = _held(body.groups, always=fixed, stale=True)
        for n in own:
            groups[n] = CapturingGroup(always=low > 0, late=low != high)
    else:
        groups = _held({**body.groups, **own}, always=fixed or (final and low > 0), stale=final)
        if high > 1 and not final:
            groups = {n: CapturingGroup(False, True) if held.late else held for n, held in groups.items()}
    if high > 1 and body.least == 0:
        groups = _held(groups, always=False, stale=True)
    if body.most is None or not (counted or once or final):
        most = None
    else:
        most = body.most * high
    return Node(
        f"{opening}{inner}{closing}{times.text()}",
        least=body.least * low,
        most=most if most is None or once or most <= UNLIMITED else None,
        one_way=body.one_way and low == high,
        final=body.final or final or (counted and body.breaks),
        breaks=body.breaks and not final and not counted,
        groups=groups,
    )


def atomic(body: Node) -> Node:
    """Returns the atomic group ``(?>...)`` with the content ``body``."""
    groups = _held(body.groups, stale=True)
    return replace(body, text=f"(?>{body.text})", unit=True, final=True, breaks=False, groups=groups)


def look(opening: str, body: Node) -> Node:
    """Returns a look-around with the content ``body``. ``opening`` is one of ``(?=``, ``(?!``, ``(?<=`` and
    ``(?<!``.
    """
    behind, negative = "<" in opening, "!" in opening
    if behind:
        if body.most is None:
            raise RefusedPattern("a look-behind without an obvious maximum length")
        if body.final or body.most > UNLIMITED:
            raise RefusedPattern(
                "a look-behind with an atomic or possessive part, \\X, or an unlimited part beside others"
            )
    sure = not negative and not (behind and body.least != body.most)
    groups = _held(body.groups, always=sure, stale=True)
    return Node(f"{opening}{body.text})", unit=True, groups=groups)


def caret(many: bool, unix: bool) -> Node:
    """Returns a part for ``^``. With the flag m (``many``), the part also matches after a line end, except at the end
    of the text.
    """
    if not many:
        return Node(r"\A")
    return Node(r"(?!\Z)(?<![^\n])" if unix else r"(?!\Z)(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))")


def dollar(many: bool, unix: bool) -> Node:
    r"""Returns a part for ``$`` or ``\Z``. The part matches at the end of the text, and before a line terminator that
    ends the text. With the flag m (``many``), it also matches before every other line terminator.
    """
    if unix:
        return Node(r"(?=\n|\Z)" if many else r"(?=\n?\Z)")
    if many:
        return Node(r"(?=[\r\x85\u2028\u2029]|(?<!\r)\n|\Z)")
    return Node(r"(?=(?:\r\n?|[\x85\u2028\u2029]|(?<!\r)\n)?\Z)")


def line_break() -> Node:
    r"""Returns a part for ``\R``, a line break."""
    return Node(r"(?:\r\n|[\n\x0B\f\r\x85\u2028\u2029])", unit=True, least=1, most=2, breaks=True)


def boundary(negative: bool, unicode: bool) -> Node:
    r"""Returns a part for ``\b`` or, if ``negative`` is set, for ``\B``. A combining mark belongs to a word if its base
    character belongs to the word.
    """
    word = WORD.text() if unicode else r"[\p{L}\p{Nd}_]"
    before, after = f"(?<={word})", f"(?={word})"
    if not unicode:
        base = r"[[\p{L}\p{Nd}]&&[\0-\uffff]]"
        mark = r"[\p{Mn}&&[\0-\uffff]]"
        before = rf"(?<={word}|{base}{mark}+)"
        after = rf"(?={word}|\p{{Mn}}(?<={base}{mark}*.))"
    # only the outer look-around is negated; ``after`` contains a look-behind of its own
    no_before, no_after = before.replace("(?<=", "(?<!", 1), after.replace("(?=", "(?!", 1)
    if negative:
        return Node(f"(?:{before}{after}|{no_before}{no_after})")
    return Node(f"(?:{before}{no_after}|{no_before}{after})")


def cluster() -> Node:
    r"""Returns a part for ``\X``, an extended grapheme cluster. As in Java 17, the clusters are those of Unicode 12."""
    picture, joiner = _pictures(), r"\u200d"
    extend = union(rule("Mn", "Me"), of("\u200c\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"))
    spacing = union(intersect(rule("Mc"), negate(of(_NO_SPACING_MARKS))), of("\u0e33\u0eb3"))
    marks = union(union(extend, spacing), of("\u200d"))
    prefix = of(_PREFIXES)
    control = intersect(
        rule("Cc", "Cf", "Cs", "Cn", "Zl", "Zp"), negate(union(union(union(marks, prefix), picture), of("\u0378")))
    )
    flag, other = "[\U0001f1e6-\U0001f1ff]", negate(union(control, prefix)).text()
    core = f"(?:{flag}{{1,2}}|{_HANGUL}|{other})"
    more = f"{marks.text()}*"
    pictures = f"{picture.text()}(?:{more}{joiner}{picture.text()})*"
    ways = rf"\r\n|{control.text()}|(?:{pictures}|{prefix.text()}+{core}?|{core}){more}"
    return Node(f"(?>{ways})", unit=True, least=1, most=1, one_way=False, final=True)


_NO_SPACING_MARKS = (
    "\u102b\u102c\u1038\u1062-\u1064\u1067-\u106d\u1083\u1087-\u108c\u108f\u109a-\u109c\u1a61\u1a63\u1a64\uaa7b\uaa7d"
)
_PREFIXES = (
    "\u0600-\u0605\u06dd\u070f\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a"
    "\U00011a84-\U00011a89\U00011d46"
)
_LEAD, _VOWEL, _TAIL = "[\u1100-\u115f\ua960-\ua97c]", "[\u1160-\u11a7\ud7b0-\ud7c6]", "[\u11a8-\u11ff\ud7cb-\ud7fb]"
_OPEN, _CLOSED = rf"[\p{{GCB=LV}}{_VOWEL}]", rf"[\p{{GCB=LVT}}{_TAIL}]"
_SYLLABLE = f"(?:{_OPEN}{_VOWEL}*{_TAIL}*|{_CLOSED}{_TAIL}*)"
_HANGUL = f"(?:{_LEAD}+(?:{_OPEN}{_VOWEL}*{_TAIL}*|\\p{{GCB=LVT}}{_TAIL}*)?|{_SYLLABLE})"
_PICTURES = """
A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6
25C0 25FB-25FE 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C
274E 2753-2755 2757 2763-2767 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299
1F000-1F0FF 1F10D-1F10F 1F12F 1F16C-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F1AD-1F1E5 1F201-1F20F 1F21A 1F22F
1F232-1F23A 1F23C-1F23F 1F249-1F3FA 1F400-1F53D 1F546-1F64F 1F680-1F6FF 1F774-1F77F 1F7D5-1F7FF 1F80C-1F80F
1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8FF 1F90C-1F93A 1F93C-1F945 1F947-1FAFF 1FC00-1FFFD
"""


def _pictures() -> Chars:
    """Returns the set ``Extended_Pictographic`` of Unicode 13. Later versions of Unicode have removed some of its
    characters.
    """
    ends = (span.split("-") for span in _PICTURES.split())
    return of_spans((int(pair[0], 16), int(pair[-1], 16)) for pair in ends)
