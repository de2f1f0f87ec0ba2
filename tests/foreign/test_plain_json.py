"""The plain reader and writer of JSON in Java do as Connect's converter does, or leave the text to Jackson."""

from tests.foreign.java_judges import counts_of


def test_plain_json_is_connects(tmp_path):
    read, refused, written = counts_of("PlainJsonJudge", 20000, tmp_path)
    assert read > 3000 and refused > 3000 and written > 3000
