"""What a producer sends is read in a time that grows with its length: no text keeps a run busy for hours."""

import time
from contextlib import suppress

import pytest

from dagster_smt.errors import DataError
from dagster_smt.formats.database_texts import parsed_text
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema, Type, decimal
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.values.headers.literals import parse_literal
from dagster_smt.values.java import regex as java_regex
from dagster_smt.values.java.dates import date_format
from dagster_smt.values.json.lazy import decode_whole
from dagster_smt.values.numbers import low_integer, parse_big_decimal, parse_float, parse_float32, parse_integer

SIZE = 60_000
SECONDS = 8
"""Far more than any of them needs on a busy machine; what grows with the square needs minutes."""
TEXTS = {
    "digits": "1" * SIZE,
    "digits and a letter": "1" * SIZE + "x",
    "hexadecimal digits and a letter": "0x" + "a" * SIZE + "z",
    "an exponent of zeros": "1e" + "0" * SIZE + "1",
    "an exponent of digits": "1e" + "9" * SIZE,
    "a fraction": "0." + "7" * SIZE,
    "signs": "-" * SIZE,
    "blanks": " " * SIZE + "x",
    "brackets": "[" * SIZE,
    "braces": "{" * SIZE,
    "a map": "{" + ",".join(f"{n}:1" for n in range(SIZE // 7)) + "}",
    "a list": "[" + ",".join(["1"] * (SIZE // 2)) + "]",
    "quotes": '"' * SIZE,
    "a quoted text of backslashes": '"' + "\\" * SIZE + '"',
    "colons": "1:" * (SIZE // 2),
    "commas": "[" + "," * SIZE,
    "a day": "2020-01-01" * (SIZE // 10),
}
READERS = {
    "headers": parse_literal,
    "decimals": parse_big_decimal,
    "doubles": parse_float,
    "floats": parse_float32,
    "integers": lambda text: parse_integer(text, 64),
    "dates": date_format("yyyy-MM-dd'T'HH:mm:ss.SSS").parse,
    "json": lambda text: decode_whole(text.encode()),
    "csv moments": lambda text: parsed_text(text, parse_ddl("a TIMESTAMP").fields[0][1], "a"),
    "csv": lambda text: side_codec(Format("csv", parse_ddl("a ARRAY<DOUBLE>, b STRING"))).read(text.encode()),
    "declared json": lambda text: side_codec(Format("json_schema", parse_ddl("a DECIMAL(9,2)"))).read(
        b'{"a":' + text.encode() + b"}"
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_long_texts_are_read_or_refused_in_time(reader):
    slow = {}
    for name, text in TEXTS.items():
        start = time.monotonic()
        with suppress(DataError, RecursionError):
            READERS[reader](text)
        taken = time.monotonic() - start
        if taken > SECONDS:
            slow[name] = taken
    assert slow == {}


@pytest.mark.parametrize("schema", [decimal(2), Schema(Type.STRUCT, fields=(("d", decimal(2)),))], ids=["one", "field"])
def test_decimals_of_a_megabyte_are_refused(schema):
    import base64

    text = b'"' + base64.b64encode(b"\x7f" * 1_000_000) + b'"'
    data = text if schema.type is not Type.STRUCT else b'{"d":' + text + b"}"
    outcome, _, _ = Interpreter(parse_nothing(), None, Format("json_schema", schema)).process(Record("t"), None, data)
    assert outcome.problem.code == "SMT446"


def parse_nothing():
    from dagster_smt.chain import Chain

    return Chain(())


def test_the_low_bits_of_very_many_digits():
    from decimal import Decimal

    start = time.monotonic()
    low_integer(Decimal("7" * 300_000))
    assert time.monotonic() - start < SECONDS


@pytest.mark.parametrize(("pattern", "text"), [("(x+x+)+y", "x" * 5_000), ("(.*)(.*)(.*)(.*)(.*)[^x]$", "x" * 400)])
def test_a_pattern_that_goes_back_and_forth_is_given_up(monkeypatch, pattern, text):
    monkeypatch.setattr(java_regex, "SECONDS", 0.2)
    start = time.monotonic()
    try:
        java_regex.compile_java(pattern).fullmatch(text)
    except DataError as error:
        assert error.problem.code == "SMT445"
    assert time.monotonic() - start < SECONDS


def test_a_pattern_that_is_given_up_is_a_problem_with_a_code(monkeypatch):
    class Slow:
        pattern = "(a+)+b"

        def search(self, text, timeout=None):
            assert timeout is not None
            raise TimeoutError

        fullmatch = search

    for name in ("search", "fullmatch"):
        with pytest.raises(DataError) as raised:
            getattr(java_regex.JavaPattern(Slow()), name)("a" * 60)
        assert raised.value.problem.code == "SMT445"
