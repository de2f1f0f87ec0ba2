"""Java's idea of a blank, which is neither Python's nor Unicode's."""

import pytest

from dagster_smt.model.java_text import trim

# (text, as String.trim leaves it)
TRIMMED = [
    ("", ""),
    (" \t\r\n\x00\x1f\x20", ""),
    (" a b\x0b", "a b"),
    ("\x1ca\x1d", "a"),
    ("\x7fa\x7f", "\x7fa\x7f"),
    ("\x85a\xa0", "\x85a\xa0"),
    (" \u3000a\u2003 ", "\u3000a\u2003"),
    ("\ufeffa", "\ufeffa"),
]


@pytest.mark.parametrize(("text", "expected"), TRIMMED)
def test_trimmed(text, expected):
    assert trim(text) == expected
