"""Java's regular expressions: the same matches as ``java.util.regex`` (of Java 17, which made them), or a refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.errors import CONFIG_EXCEPTION, ConfigError, DataError
from dagster_smt.values.java_regex import Matches, ReplaceIfMatches, compile_java

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
POSITION = "the regular expression '{}' is not usable: {}"
REFUSED = [
    ("(", "missing )"),
    ("[a", "a class is not closed"),
    ("a**", "multiple repeat"),
    ("a\\", "it ends with a lone backslash"),
    (r"\y", "the escape '\\y'"),
    (r"\X", "the escape '\\X'"),
    (r"\G", "the escape '\\G'"),
    (r"\N{DIGIT ONE}", "the escape '\\N'"),
    (r"\cA", "the escape '\\c'"),
    (r"\m", "the escape '\\m'"),
    (r"\K", "the escape '\\K'"),
    (r"\L<a>", "the escape '\\L'"),
    (r"[\b]", "the escape '\\b'"),
    (r"\08", "an octal escape without digits"),
    (r"\k<1>", "a reference without the name of a group"),
    (r"\k<n>", "unknown group"),
    (r"\p", "a property without a name"),
    (r"\p{javaLowerCase}", "the property 'javaLowerCase'"),
    (r"\p{InGreek}", "the property 'InGreek'"),
    (r"(?i)\p{Lu}", "a Unicode property together with the flag i"),
    ("a(?s)b", "inline flags other than i after the start: '(?s)'"),
    ("(?u)a", "inline flags other than i after the start: '(?u)'"),
    ("(?x)[ ]", "blanks inside a class under the flag x"),
    ("(?P<n>a)", "the group '(?P<'"),
    ("(?#a)", "the group '(?#a'"),
    ("(?R)", "inline flags other than i after the start: '(?R)'"),
    ("(?|a)", "the group '(?|a'"),
    ("(?1)", "the group '(?1)'"),
    ("(?(1)a)", "the group '(?(1'"),
    ("a{,2}", "a '{' that begins no repetition"),
    ("a{e<=1}", "a '{' that begins no repetition"),
    ("(?:a){e}", "a '{' that begins no repetition"),
    ("{", "a '{' that begins no repetition"),
    ("[[:alpha:]]", "a class that begins with ':' inside a class"),
    ("[a--b]", "'--' at this place in a class"),
    ("[&&a]", "'&&' at this place in a class"),
    ("[a&&]", "'&&' at this place in a class"),
    ("[a&&&b]", "'&&' at this place in a class"),
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
]


@pytest.mark.parametrize(("pattern", "text", "matches"), MATCHES)
def test_matches(pattern, text, matches):
    assert Matches(pattern).python(text) is matches


@pytest.mark.parametrize(("pattern", "why"), REFUSED)
def test_refused(pattern, why):
    with pytest.raises(ConfigError) as caught:
        compile_java(pattern)
    (problem,) = caught.value.problems
    assert str(problem).splitlines()[0] == f"SMT021 the regular expression '{pattern}' is not usable: {why}"
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
    "a b . ^ $ | ( ) (?: (?= (?<n> (?i) (?P< (?( * + ? {2} {,2} { } [ ] [^ - && a-c # & "
    "\\d \\W \\b \\Q \\E \\p{L} \\p{ \\1 \\ \\0 \\x4 \\u00"
).split()


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join), st.text(alphabet="ab-.\n&", max_size=3))
def test_any_pattern_is_compiled_or_refused_by_name(pattern, text):
    try:
        compile_java(pattern)
    except ConfigError as error:
        assert [p.code for p in error.problems] == ["SMT021"]
        return
    assert Matches(pattern).python(text) in (True, False)
