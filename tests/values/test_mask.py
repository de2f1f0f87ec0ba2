"""What MaskField puts in the place of a value, by kind and replacement."""

from decimal import Decimal

import pytest

from dagster_smt.errors import DATA_EXCEPTION, DataError
from dagster_smt.model.runtime import JavaByte, JavaDouble, JavaFloat, JavaInteger, JavaShort
from dagster_smt.model.schema import JavaDate
from dagster_smt.values.mask import mask_value

MASKED = [
    ("boolean", None, False),
    ("int8", None, JavaByte(0)),
    ("int16", None, JavaShort(0)),
    ("int32", None, JavaInteger(0)),
    ("int64", None, 0),
    ("float", None, JavaFloat(0.0)),
    ("double", None, 0.0),
    ("string", None, ""),
    ("Decimal", None, Decimal(0)),
    ("Date", None, JavaDate(0)),
    ("Time", None, JavaDate(0)),
    ("Timestamp", None, JavaDate(0)),
    ("array", None, []),
    ("map", None, {}),
    ("string", "***", "***"),
    ("int8", "300", JavaByte(44)),
    ("int16", "70000", JavaShort(4464)),
    ("int32", "12.9", JavaInteger(12)),
    ("int32", "99999999999", JavaInteger(1215752191)),
    ("int64", "-1e3", -1000),
    ("int64", "+.5", 0),
    ("int64", "1e20", 7766279631452241920),
    ("int64", "1e999999999", 0),
    ("int64", "٤٢", 42),
    ("float", "1e400", JavaFloat("inf")),
    ("float", "1.00000017881393432617187499", JavaFloat(1.0000001192092896)),
    ("double", "1e400", JavaDouble("inf")),
    ("double", "-0", 0.0),
    ("Decimal", "1.50", Decimal("1.50")),
    ("Decimal", "-0.0", Decimal("0.0")),
]
NO_NUMBER = "the replacement is not a number, but the value is of type {}"
REFUSED = [
    ("bytes", None, "a value of type bytes cannot be masked"),
    ("struct", None, "a value of type struct cannot be masked"),
    *(
        (kind, "x", f"a value of type {kind} cannot be masked with a replacement")
        for kind in ("bytes", "struct", "boolean", "Date", "Time", "Timestamp", "array", "map")
    ),
    *((kind, "foo", NO_NUMBER.format(kind)) for kind in ("int8", "int64", "float", "double", "Decimal")),
    *(
        ("int32", text, NO_NUMBER.format("int32"))
        for text in ("NaN", "1 ", "1_0", "0x1", "1d", ".", "1e", "1e99999999999999999999")
    ),
]


@pytest.mark.parametrize(("kind", "replacement", "value"), MASKED)
def test_masked(kind, replacement, value):
    result = mask_value(kind, replacement)
    assert (type(result), str(result)) == (type(value), str(value))


@pytest.mark.parametrize(("kind", "replacement", "statement"), REFUSED)
def test_refused(kind, replacement, statement):
    with pytest.raises(DataError) as caught:
        mask_value(kind, replacement)
    assert str(caught.value).splitlines()[0] == f"SMT403 {statement}"
    assert caught.value.problem.connect_class == DATA_EXCEPTION
