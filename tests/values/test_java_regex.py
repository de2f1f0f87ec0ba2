"""Java's regular expressions: the same matches as ``java.util.regex`` (of Java 17, which made them), or a refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, DataError
from dagster_smt.values.java.regex import Matches, ReplaceIfMatches, compile_java

MATCHES = [
    ("orders-.*", "orders-eu", True),
    ("orders", "orders-eu", False),
    ("a|ab", "ab", True),
    ("", "", True),
    (r"\d+", "12", True),
    (r"\d", "٤", False),
    (r"\w+", "a_1", True),
    (r"\w", "ä", False),
    (r"\s", "\x0b", True),
    (r"\D\W\S", "ä-b", True),
    (r"[\w-.]+", "a-b_.", True),
    (r"[\s-_]", "!", False),
    (r"[\s-_]", "-", True),
    (r"[\D]", "a", True),
    (r"[^\d]", "1", False),
    (r"\h\H\v\V", " a\n ", True),
    (r"a\Rb", "a\r\nb", True),
    (r".", "\u2028", False),
    (r"(?s).", "\n", True),
    (r"a.c", "a\rc", False),
    (r"a$", "a", True),
    (r"\Aa\z", "a", True),
    (r"a\Z\n?", "a\n", True),
    ("(?m)a$\n^b", "a\nb", True),
    ("a$\n^b", "a\nb", False),
    (r"\p{Alpha}+", "aZ", True),
    (r"\p{Alpha}", "ä", False),
    (r"\p{L}", "ä", True),
    (r"\pL", "ß", True),
    (r"\P{L}", "ä", False),
    (r"\p{IsLatin}+", "éa", True),
    (r"\p{Lu}", "ä", False),
    (r"[\p{Punct}&&[^.]]+", "-_", True),
    (r"[\p{Punct}&&[^.]]+", "-.", False),
    (r"[a-z&&[^b]]", "b", False),
    (r"[a-c[x-z]]", "y", True),
    ("(?i)ABC", "abc", True),
    ("(?i)ä", "Ä", False),
    ("(?i)ss", "ß", False),
    ("(?i:a)b", "Ab", True),
    ("(?i:a)b", "AB", False),
    ("(?x)a b # c", "ab", True),
    (r"\Qa.b\E+", "a.bb", True),
    (r"\Q[", "[", True),
    (r"\x41\u0042\0103", "ABC", True),
    (r"\e\f\a\t", "\x1b\x0c\x07\t", True),
    ("(?<n>a)\\k<n>", "aa", True),
    (r"(a)\1", "aa", True),
    ("a++a", "aaa", False),
    ("(?>a|ab)c", "abc", False),
    ("(?=a).", "a", True),
    ("(?!a).", "a", False),
    ("(?<=a)b", "b", False),
    ("a(?<!b)c", "ac", True),
    ("a{2}", "aa", True),
    ("a{1,}", "aaa", True),
    ("a{0,1}", "", True),
    ("a}", "a}", True),
    (r"a\{", "a{", True),
    ("[{]", "{", True),
    ("[]a]", "]", True),
    ("[^]a]", "]", False),
    ("[a||b]", "|", True),
    ("[a~~b]", "~", True),
    ("[.$^*]", "*", True),
    ("~~--&&", "~~--&&", True),
]
CHARS = "aZ5_- é\u0301ßſ\u212aıİςΣαǅ中٣\U0001f600\U0001d400\n\r\x85\u2028"
"""What each class or property of the next table is tried on."""
CHOSEN = [
    (r"\p{javaLowerCase}", "aéßſıςα"),
    (r"\p{javaUpperCase}", "Z\u212aİΣ\U0001d400"),
    (r"\p{javaTitleCase}", "ǅ"),
    (r"\p{javaLetterOrDigit}", "aZ5éßſ\u212aıİςΣαǅ中٣\U0001d400"),
    (r"\p{javaWhitespace}", " \n\r\u2028"),
    (r"\p{javaJavaIdentifierPart}", "aZ5_é\u0301ßſ\u212aıİςΣαǅ中٣\U0001d400\x85"),
    (r"\p{InGreek}", "ςΣα"),
    (r"\p{InGREEK AND COPTIC}", "ςΣα"),
    (r"\p{InBasic Latin}", "aZ5_- \n\r"),
    (r"\p{InBASIC_LATIN}", "aZ5_- \n\r"),
    (r"\p{block=Emoticons}", "\U0001f600"),
    (r"\p{blk=LatinExtended-A}", "ſıİ"),
    (r"\p{script=Latin}", "aZéßſ\u212aıİǅ"),
    (r"\p{sc=grek}", "ςΣα"),
    (r"\p{IsHan}", "中"),
    (r"\p{general_category=Lu}", "Z\u212aİΣ\U0001d400"),
    (r"\p{gc=Nd}", "5٣"),
    (r"\p{IsLu}", "Z\u212aİΣ\U0001d400"),
    (r"\p{IsAlphabetic}", "aZéßſ\u212aıİςΣαǅ中\U0001d400"),
    (r"\p{IsWhite_Space}", " \n\r\x85\u2028"),
    (r"\p{IsAlpha}", "aZéßſ\u212aıİςΣαǅ中\U0001d400"),
    (r"\p{LC}", "aZéßſ\u212aıİςΣαǅ\U0001d400"),
    (r"\p{L1}", "aZ5_- éß\n\r\x85"),
    (r"\p{all}", CHARS),
    (r"(?i)\p{Lu}", "aZéßſ\u212aıİςΣαǅ\U0001d400"),
    (r"(?i)\p{Lower}", "aZ"),
    (r"(?U)\p{Lower}", "aéßſıςα"),
    (r"(?U)\w", "aZ5_é\u0301ßſ\u212aıİςΣαǅ中٣\U0001d400"),
    (r"(?U)\d", "5٣"),
    (r"(?U)\s", " \n\r\x85\u2028"),
    (r"(?U-U)\d", "5"),
    (r"[^\P{L}\p{L}]", ""),
    (r"[\w&&[^\d]&&\p{Lower}]", "a"),
    ("(?d).", "aZ5_- é\u0301ßſ\u212aıİςΣαǅ中٣\U0001f600\U0001d400\r\x85\u2028"),
    ("(?i)k", ""),
    ("(?iu)k", "\u212a"),
    ("(?iu)s", "ſ"),
    ("(?iu)ı", "ıİ"),
    ("(?iu)i", "ıİ"),
    ("(?iu)İ", "ıİ"),
    ("(?iu)É", "é"),
    ("(?iu)ß", "ß"),
    ("(?iu)ẞ", "ß"),
    ("(?iu)σ", "ςΣ"),
    ("(?iu)ǆ", "ǅ"),
    ("(?iu)[k-s]", "ſ\u212a"),
    ("(?iu)[^a-z]", "5_- é\u0301ßςΣαǅ中٣\U0001f600\U0001d400\n\r\x85\u2028"),
    ("(?i)[^A-Z]", "5_- é\u0301ßſ\u212aıİςΣαǅ中٣\U0001f600\U0001d400\n\r\x85\u2028"),
    ("[&&a]", "a"),
    ("[a&&]", "a"),
    ("[aZ&&[Z5]_&&5]", "Z"),
    ("[a5&&[a]&Z]", "aZ5"),
    ("[a-z&&[^b]]", "a"),
    ("[a-zA-Z&&a-f&&a]", "a"),
    ("[^a-zZ&&[Z5]]", "a5_- é\u0301ßſ\u212aıİςΣαǅ中٣\U0001f600\U0001d400\n\r\x85\u2028"),
    ("(?x)[a Z]", "aZ"),
    ("(?x)[a #Z\n5]", "a5"),
    ("[[:alpha:]]", "a"),
    (r"[\v-a]", "aZ5_- \r"),
    (r"[\ud83d\ude00-\ud83d\ude02]", "\U0001f600"),
    (r"[\x{1D400}\N{GREEK SMALL LETTER ALPHA}]", "α\U0001d400"),
]
FINDS = [
    (r"\ud83d\ude00+", "x😀😀", [(1, 3)]),
    (r"\x{1F600}", "😀", [(0, 1)]),
    (r"\N{LATIN SMALL LETTER A}\cA", "a\x01", [(0, 2)]),
    (r"\X", "e\u0301\u0302x", [(0, 3)]),
    (r"\X", "\r\nx", [(0, 2)]),
    (r"\X\X", "🇩🇪🇫🇷x", [(0, 4)]),
    (r"\X", "👩\u200d👩\u200d👧x", [(0, 5)]),
    (r"\X", "각\u11a8x", [(0, 2)]),
    (r"\Ga|b", "ba", [(0, 1)]),
    (r"\R\n", "\r\n", [(0, 2)]),
    (r"\R{1}\n", "\r\n", None),
    ("$", "\r\n", [(0, 0)]),
    (".$", "a\r\n", [(0, 1)]),
    ("\r$", "\r\n", None),
    ("(?m)^$", "", None),
    ("(?m)^b$", "a\r\nb\x85", [(3, 4)]),
    ("(?dm)^b$", "a\nb\n\r", [(2, 3)]),
    ("(?d)a$", "a\r", None),
    (r"(?d)a\Z", "a\n", [(0, 1)]),
    (r"\b", "-é", [(1, 1)]),
    (r"é\b", "é\u0301", None),
    (r"é\u0301\b", "é\u0301-", [(0, 2)]),
    (r"\b", "-\u0301", None),
    (r"(?U)\b", "-\u0301", [(1, 1)]),
    (r"\B.", "é", None),
    ("a(?i)b(?-i)c|D", "aBc", [(0, 3)]),
    ("(?:a(?i)b)c", "aBC", None),
    ("(?i)a|(?-i)b", "B", None),
    ("(?s:.)(?-s).", "\n\n", None),
    ("(?x) a\\ b # c", "a b", [(0, 3)]),
    ("(?x)a {2} +", "aaa", [(0, 2)]),
    ("(?iu)ßx", "ẞX", [(0, 2)]),
    ("{2}a{2}{3}", "aa", [(0, 2)]),
    (r"(a)\2", "aa", None),
    (r"(a)\11", "aa1", [(0, 3), (0, 1)]),
    (r"\8?a", "a", [(0, 1)]),
    (r"(?i)(a)\1", "aA", [(0, 2), (0, 1)]),
    (r"(?:(a)|b)*", "ab", [(0, 2), (0, 1)]),
    ("(?:a|ab){2}+c", "abac", None),
    ("(?:a?|b){1,3}c", "abac", [(0, 4)]),
    ("(?:|a)+", "aa", [(0, 0)]),
    ("(?:[^a]|[^b])+", "abx", [(0, 3)]),
    ("(?<=a{1,2}|bcd)x", "aax", [(2, 3)]),
    ("(?<=a*)x", "aax", [(2, 3)]),
    (r"a\Q.\E*\Q\d", "a..\\d", [(0, 5)]),
]
POSITION = "the regular expression '{}' cannot be used: {}"
LOOK_BEHIND = "a look-behind with an atomic or possessive part, \\X, or an unlimited part beside others"
REFUSED = [
    ("(", "missing )"),
    ("[a", "a class is not closed"),
    ("a**", "multiple repeat"),
    ("a\\", "it ends with a lone backslash"),
    (r"\y", "the escape '\\y'"),
    (r"\m", "the escape '\\m'"),
    (r"\K", "the escape '\\K'"),
    (r"\L<a>", "the escape '\\L'"),
    (r"[\b]", "the escape '\\b' in a class"),
    (r"\08", "an octal escape without digits"),
    (r"\k<1>", "a reference without the name of a group"),
    (r"\k<n>", "unknown group"),
    (r"\p", "a property without a name"),
    ("(?x)[ ]", "a class is not closed"),
    ("(?P<n>a)", "the group '(?P<'"),
    ("(?#a)", "the group '(?#a'"),
    ("(?R)", "the group '(?R)'"),
    ("(?|a)", "the group '(?|a'"),
    ("(?1)", "the group '(?1)'"),
    ("(?(1)a)", "the group '(?(1'"),
    ("a{,2}", "a '{' that does not begin a repetition"),
    ("a{e<=1}", "a '{' that does not begin a repetition"),
    ("(?:a){e}", "a '{' that does not begin a repetition"),
    ("{", "a '{' that does not begin a repetition"),
    ("[a--b]", "an illegal range in a class"),
    (r"[a-\d]", "an illegal range in a class"),
    (r"[a-\pL]", "the escape '\\p' in a class"),
    ("[z-a]", "an illegal range in a class"),
    ("[&&]", "an intersection of nothing"),
    ("[&&&a]", "an intersection of nothing"),
    (r"[+-\v]", "an illegal range in a class"),
    ("[a&&", "a class is not closed"),
    ("[]", "a class is not closed"),
    ("[^]", "a class is not closed"),
    ("(?<n>a)(?<n>b)", "two groups of the name 'n'"),
    ("(?<n_x>a)", "the group '(?<n'"),
    ("(?<1>a)", "the group '(?<1'"),
    ("(?z)a", "the group '(?z)'"),
    ("(?i-s-m)a", "the group '(?i-'"),
    (")", "unbalanced parenthesis"),
    ("a)", "unbalanced parenthesis"),
    ("*a", "nothing to repeat"),
    ("a|?", "nothing to repeat"),
    ("(?i)*", "nothing to repeat"),
    ("a{2,1}", "an illegal repetition range"),
    ("a{9999999999}", "an illegal repetition range"),
    ("a{1", "a '{' that does not begin a repetition"),
    ("a{ 1}", "a '{' that does not begin a repetition"),
    ("a{1,x}", "a '{' that does not begin a repetition"),
    ("(?<=(?:(?=a){1,})*)c", "a look-behind without an obvious maximum length"),
    (r"(?<=(?:ab)*)c", "a look-behind without an obvious maximum length"),
    (r"(a)(?<=\1)", "a look-behind without an obvious maximum length"),
    (r"\x4", "the escape '\\x' without two digits"),
    (r"\x{110000}", "the escape '\\x{' without a code point"),
    (r"\x{41", "the escape '\\x{' without a code point"),
    (r"\u004", "the escape '\\u' without four digits"),
    (r"\ud83d\u00", "the escape '\\u' without four digits"),
    (r"\c", "the escape '\\c' without a character"),
    (r"\N", "the escape '\\N' without a name"),
    (r"\N{LATIN SMALL LETTER A", "the escape '\\N' without a name"),
    (r"\N{NO SUCH NAME}", "the escape '\\N{NO SUCH NAME}'"),
    (r"\p{L", "a property without a name"),
    (r"\p{}", "a property without a name"),
    (r"\p{Latin}", "the property 'Latin'"),
    (r"\p{lower}", "the property 'lower'"),
    (r"\p{IsNoSuchScript}", "the property 'IsNoSuchScript'"),
    (r"\p{InNoSuchBlock}", "the property 'InNoSuchBlock'"),
    (r"\p{script=Latin1}", "the property 'script=Latin1'"),
    (r"\p{age=6.0}", "the property 'age=6.0'"),
    (r"[\1]", "the escape '\\1' in a class"),
    (r"[\R]", "the escape '\\R' in a class"),
]
REFUSED_HERE_ONLY = [
    ("(?c)a", "the flag c"),
    (r"\b{g}a", "the escape '\\b{g}'"),
    (r"\N{CJK UNIFIED IDEOGRAPHS 4E00}", "the escape '\\N{CJK UNIFIED IDEOGRAPHS 4E00}'"),
    (r"(?iu)(a)\1", "a reference under the flags i and u"),
    (r"(?i)(\P{L})\1", "a reference under the flag i together with a Unicode property or \\b"),
    (r"(?i)(\pL)\1", "a reference under the flag i together with a Unicode property or \\b"),
    (r"(a\1)", "a reference to a group that is not closed yet"),
    (r"\1(a)", "a reference to a group that is not closed yet"),
    (r"(?>(a)|b)\1", "a reference to a group that may keep a text of a failed attempt in Java"),
    ("(?<=a++)b", LOOK_BEHIND),
    (r"(?<=\X)b", LOOK_BEHIND),
    ("(?<=xa+)b", LOOK_BEHIND),
    (r"(?<=\x{1F600})b", "a look-behind for an escaped character beyond \\uFFFF"),
    ("(a?|b){2}", "a group that may be empty and is repeated at least twice"),
    ("a{60000}", "repetitions of more than 50000 characters"),
    ("(" * 100 + ")" * 100, "too many nested groups"),
    ("[a-zZ&&&_]", "'&&' at this place in a class"),
    ("[[x]a&&]", "'&&' at this place in a class"),
]
ROUTED = [
    ("(.*)ers", "$1", "orders", "ord"),
    ("a|ab", "X", "ab", "Xb"),
    ("(.*?)", "X", "orig", "Xorig"),
    (".*", "", "a", ""),
    ("ord", "x", "orders", "orders"),
    ("(?<x>.)(.)", "${x}-$2", "ab", "a-b"),
    ("(a)", "$10", "a", "a0"),
    ("(a)", r"\$1\\", "a", "$1\\"),
    ("(a)|b", "<$1>", "b", "<>"),
    ("a", "$0$0", "a", "aa"),
    ("(.)" * 11, "$11$1", "abcdefghijk", "ka"),
    ("(.*)-\\d{4}", "$1", "logs-2020", "logs"),
    ("(?<x1>a)(b)?", "${x1}$2$12", "a", "aa2"),
    ("(?=(a)).", "$1$1", "a", "aa"),
    ("(?!(internal|test)).*", "x", "orders", "x"),
]
BAD_REPLACEMENT = "SMT406 the replacement cannot be used: {}"
UNROUTABLE = [
    ("a", "$1", "there is no group 1"),
    ("(a)", "$2", "there is no group 2"),
    ("a", "${x}", "there is no group x"),
    ("a", "$", "a dollar sign without a group"),
    ("a", "$x", "a dollar sign without a group"),
    ("a", "${1}", "a dollar sign without a group"),
    ("a", "x\\", "it ends with a lone backslash"),
    ("(?<x>a)", "${y}", "there is no group y"),
    ("(?<x>a)", "${x", "a dollar sign without a group"),
    ("(?!(b)).", "$1", "the content of the group 1 may depend on the engine"),
    ("(([ab]){1,}){1,2}?", "$2", "the content of the group 2 may depend on the engine"),
    ("(?<x>b*)*a", "${x}", "the content of the group x may depend on the engine"),
]


@pytest.mark.parametrize(("pattern", "text", "matches"), MATCHES)
def test_matches(pattern, text, matches):
    assert Matches(pattern).python(text) is matches


@pytest.mark.parametrize(("pattern", "chosen"), CHOSEN)
def test_sets_of_characters(pattern, chosen):
    compiled = compile_java(pattern)
    assert "".join(char for char in CHARS if compiled.fullmatch(char)) == chosen


@pytest.mark.parametrize(("pattern", "text", "spans"), FINDS)
def test_finds(pattern, text, spans):
    match = compile_java(pattern).search(text)
    assert (match and list(match.regs)) == spans


@pytest.mark.parametrize(("pattern", "why"), REFUSED + REFUSED_HERE_ONLY)
def test_refused(pattern, why):
    with pytest.raises(ConfigError) as caught:
        compile_java(pattern)
    (problem,) = caught.value.problems
    assert str(problem).splitlines()[0] == f"SMT021 the regular expression '{pattern}' cannot be used: {why}"
    assert problem.connect_class == CONFIG_EXCEPTION


@pytest.mark.parametrize(("pattern", "replacement", "topic", "result"), ROUTED)
def test_the_first_find_is_replaced_if_the_whole_matches(pattern, replacement, topic, result):
    assert ReplaceIfMatches(pattern, replacement).python(topic) == result


@pytest.mark.parametrize(("pattern", "replacement", "why"), UNROUTABLE)
def test_a_replacement_that_cannot_be_used_fails_the_record(pattern, replacement, why):
    with pytest.raises(DataError) as caught:
        ReplaceIfMatches(pattern, replacement).python("a")
    assert str(caught.value).splitlines()[0] == BAD_REPLACEMENT.format(why)
    assert ReplaceIfMatches(pattern, replacement).python("other") == "other"


def test_without_a_topic():
    assert Matches(".*").python(None) is False
    with pytest.raises(DataError) as caught:
        ReplaceIfMatches(".*", "x").python(None)
    assert str(caught.value).splitlines()[0] == "SMT407 the record has no topic"


FRAGMENTS = (
    "a b . ^ $ | ( ) (?: (?= (?<n> (?i) (?P< (?( * + ? {2} {,2} { } [ ] [^ - && a-c # & (?> (?<! (?x) (?iu) (?U-s: "
    "\\d \\W \\b \\Q \\E \\p{L} \\p{ \\1 \\ \\0 \\x4 \\u00 \\N{ \\c \\k<n> \\X \\R \\p{IsLatin} \\ud83d \\ude00"
).split()


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join), st.text(alphabet="ab-.\n&", max_size=3))
def test_any_pattern_is_compiled_or_refused_by_name(pattern, text):
    try:
        compile_java(pattern)
    except ConfigError as error:
        assert [p.code for p in error.problems] == ["SMT021"]
        return
    assert Matches(pattern).python(text) in (True, False)
