"""Which JSONPath is read, and what is refused by name."""

from decimal import Decimal

import pytest

from dagster_smt.model.paths.json_path import (
    AllTests,
    AnyTest,
    Comparison,
    Exists,
    FilterStep,
    NotTest,
    RefusedJsonPath,
    RegexMatch,
    parse_json_path,
)

STEPS = [
    ("$", ()),
    ("$.a.b-c.$oid", ("a", "b-c", "$oid")),
    ("a['b.c'][\"d e\"]", ("a", "b.c", "d e")),
    ("$['it\\'s \\u00e9\\n']", ("it's é\n",)),
    ("$oid", ("$oid",)),
    ("$.a[?(@)]", ("a", FilterStep(Exists(())))),
    ("[?(!@.a.b)]", (FilterStep(NotTest(Exists(("a", "b")))),)),
    ("$[?(@.a == 'x')].b", (FilterStep(Comparison(("a",), "==", ("x",))), "b")),
    ("$[?(@.a IN ['x',-1, null])]", (FilterStep(Comparison(("a",), "in", ("x", Decimal(-1), None))),)),
    ("$[?(@.a =~ /a\\/b/iU)]", (FilterStep(RegexMatch(("a",), "(?iU)a\\/b")),)),
    (
        "$[?(@.a || @.b && !(@.c < 1.5))]",
        (
            FilterStep(
                AnyTest(
                    (Exists(("a",)), AllTests((Exists(("b",)), NotTest(Comparison(("c",), "<", (Decimal("1.5"),))))))
                )
            ),
        ),
    ),
]
ANEW = "json-path parses a text in a list a second time if it has a backslash or begins like this"
REFUSED = [
    ("", "a name must follow; put a name with other characters into brackets and quotes (position 0)"),
    ("$.", "a name must follow; put a name with other characters into brackets and quotes (position 2)"),
    (".a", "a name must follow; put a name with other characters into brackets and quotes (position 0)"),
    ("$.a b", "a dot or a bracket must follow (position 3)"),
    ("@.a", "'@' has a meaning in filters only (position 1)"),
    ("$..a", "a deep scan (..) is not supported (position 1)"),
    ("$.a.*", "a wildcard (*) is not supported (position 4)"),
    ("$.a[*]", "a wildcard ([*]) is not supported (position 4)"),
    ("$.a[0]", "an index or a slice of an array is not supported (position 4)"),
    ("$.a[-1]", "an index or a slice of an array is not supported (position 4)"),
    ("$.a[:2]", "an index or a slice of an array is not supported (position 4)"),
    ("$.a['b','c']", "several names in brackets are not supported (position 7)"),
    ("$.a[b]", "a text in quotes must follow (position 4)"),
    ("$.a['b", "a text in quotes must follow (position 4)"),
    ("$.a['b'", "']' must follow (position 7)"),
    ("$.a.length()", "the function length() is not supported (position 10)"),
    ("$.a[?@.b]", "a filter has parentheses: [?(…)] (position 5)"),
    ("$.a[?(@.b]", "an operator must follow (position 9)"),
    ("$[?(@.a == 1]", "')' must follow (position 12)"),
    ("$[?()]", "a field (@.name) must follow; write the field before the operator (position 4)"),
    ("$[?('x' == @.a)]", "a field (@.name) must follow; write the field before the operator (position 4)"),
    ("$[?($.a == 1)]", "a path from the root ($) in a filter is not supported (position 4)"),
    ("$[?(@.a[?(@.b)])]", "a filter inside a filter is not supported (position 15)"),
    ("$[?(@.a == @.b)]", "a comparison of two fields is not supported (position 11)"),
    ("$[?(@.a == $.b)]", "a comparison of two fields is not supported (position 11)"),
    ("$[?(@.a == ['x'])]", "a comparison with an array or object is not supported (position 11)"),
    ("$[?(@.a == {})]", "a comparison with an array or object is not supported (position 11)"),
    ("$[?(@.a == x)]", "a text in quotes, a number, true, false or null must follow (position 11)"),
    ("$[?(@.a == 1.)]", "a text in quotes, a number, true, false or null must follow (position 11)"),
    ("$[?(@.a == nullable)]", "a text in quotes, a number, true, false or null must follow (position 11)"),
    ("$[?(@.a = 1)]", "the operator '=' is not supported (position 10)"),
    ("$[?(@.a contains 'x')]", "the operator 'contains' is not supported (position 17)"),
    ("$[?(@.a size 1)]", "the operator 'size' is not supported (position 13)"),
    ("$[?(@.a&&@.b)]", "a blank must be between a name and && or || (position 7)"),
    ("$[?(!@.a == 1)]", "'!' before a comparison: put the comparison into parentheses (position 13)"),
    ("$[?(@.a =~ 'x')]", "a regular expression between slashes must follow (position 11)"),
    ("$[?(@.a =~ /x)]", "a regular expression between slashes must follow (position 11)"),
    ("$[?(@.a =~ /x/g)]", "'g' is not a flag of a regular expression (position 15)"),
    ("$[?(@.a in 'x')]", "'[' must follow (position 11)"),
    ("$[?(@.a in [1.5])]", "a text in quotes must follow (position 12)"),
    ("$[?(@.a in ['$x'])]", f"{ANEW} (position 16)"),
    ("$[?(@.a in ['\\n'])]", f"{ANEW} (position 16)"),
    (f"$[?({'(' * 500}@.a{')' * 500})]", "its tests are nested too deeply (position 104)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "steps"), STEPS)
def test_what_a_path_says(text, steps):
    path = parse_json_path(text)
    assert (path.text, path.steps) == (text, steps)
    assert path.definite is all(isinstance(step, str) for step in steps)


@pytest.mark.parametrize(("text", "what"), REFUSED)
def test_what_is_not_supported_is_refused_by_name(text, what):
    with pytest.raises(RefusedJsonPath) as error:
        parse_json_path(text)
    assert str(error.value) == f"'{text}' cannot be used as a JSONPath: {what}"
