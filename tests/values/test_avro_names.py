"""Names of schemas as Debezium fits them to Avro (SchemaNameAdjuster)."""

import pytest

from dagster_smt.transforms.debezium.events.avro_names import adjusted_name


@pytest.mark.parametrize(
    ("name", "avro", "unicode"),
    [
        ("", "", ""),
        ("a.B9.Key", "a.B9.Key", "a.B9.Key"),
        ("mysql-1.x_y", "mysql_1.x_y", "mysql_u002d1.x_u005fy"),
        ("1a", "_1a", "_u0031a"),
        ("-a", "_a", "_u002da"),
        ("ä\U0001f600", "___", "_u00e4_ud83d_ude00"),
        ("\u0131\u2028", "__", "_u131_u2028"),
        ("\t", "_", "_u009"),
    ],
)
def test_names(name, avro, unicode):
    assert [adjusted_name(name, mode) for mode in ("none", "avro", "avro_unicode")] == [name, avro, unicode]


@pytest.mark.parametrize(
    ("name", "avro", "unicode"), [("a.b", "a_b", "a_u002eb"), (".a", "_a", "_u002ea"), ("1_a", "_1_a", "_u0031_u005fa")]
)
def test_dots_do_not_fit_into_names_of_fields(name, avro, unicode):
    assert [adjusted_name(name, mode, dots=False) for mode in ("none", "avro", "avro_unicode")] == [name, avro, unicode]
