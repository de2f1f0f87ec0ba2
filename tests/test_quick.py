"""CI's choice of parameters is what it says."""

import pytest

from tests.quick import quick


def test_the_others_are_long():
    chosen, other = quick({"a": 1, "b": 2}, "a")
    assert (chosen.values, [mark.name for mark in chosen.marks]) == (("a",), [])
    assert (other.values, [mark.name for mark in other.marks]) == (("b",), ["long"])


@pytest.mark.parametrize("names", [(), ("c",), ("a", "c")])
def test_a_choice_of_nothing_or_of_no_value_is_refused(names):
    with pytest.raises(ValueError, match="none of the values"):
        quick("ab", *names)
