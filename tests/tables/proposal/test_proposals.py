"""Topic tables proposed from records: what is guessed, what is said of it, and that the records can be read so."""

import json
import random

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import TableError
from dagster_smt.interpret.preview import Sample, preview
from dagster_smt.model.reports.run_report import leaf_labels
from dagster_smt.model.schema import Schema, Type
from dagster_smt.tables.proposal.beside_chain import propose_beside, table_of
from dagster_smt.tables.proposal.column_proposal import propose
from dagster_smt.tables.proposal.encodings import encoding_of

NOTHING = parse_chain({"transforms": ""})


def samples(values, keys=()):
    keys = [*keys, *[None] * (len(values) - len(keys))]
    return [Sample("orders", 0, n, 0, k, v) for n, (k, v) in enumerate(zip(keys, values, strict=True))]


def encoded(values):
    return [None if v is None else json.dumps(v).encode() for v in values]


def labels(proposal):
    return {
        name: label.rstrip("?") for name, label in leaf_labels(Schema(Type.STRUCT, fields=proposal.columns)).items()
    }


KINDS = [
    ([1, 2], "int64", ""),
    ([1, 2.5], "float64", "at most 1 digits behind the point: DECIMAL(38, 1)"),
    ([0.123456789], "float64", ""),
    ([2**70], "Decimal(0)", "beyond BIGINT"),
    ([1_700_000_000_000, 1_700_000_000_001], "int64", "milliseconds since 1970"),
    ([True, False], "boolean", ""),
    (["x", "y"], "string", ""),
    (["1997-09-17", "2020-02-29"], "Date", ""),
    (["1997-09-17", "2020-02-30"], "string", "1 of 2 texts are no days"),
    (["2020-01-31 12:00:00", "2020-01-31T12:00:00.123Z", "2020-01-31"], "Timestamp", ""),
    (["2020-01-31T12:00:00.123456Z", "2020-01-31T12:00:00Z"], "string", "more digits than milliseconds"),
    (["12.50", "0.00"], "Decimal(2)", "decimals as texts"),
    (["12.50", "1.5"], "string", ""),
    (["0049123", "0049124"], "string", ""),
    (["1", "2"], "string", ""),
    ([1, "2", 2.5], "Decimal(1)", "1 of 3 numbers are texts"),
    ([1, 2, "x"], "int64", "1 of 3 values are texts, the others numbers"),
    ([None, None], "string", "null in all of them"),
    ([None, "1997-09-17"], "Date", ""),
    ([[1], []], "array<int64?>", ""),
    ([[]], "array<string?>", "no items"),
]


@pytest.mark.parametrize(("values", "label", "note"), KINDS)
def test_types(values, label, note):
    proposal = propose(samples(encoded({"a": value} for value in values)))
    assert labels(proposal) == {"a": label}
    said = "; ".join(n.text for n in proposal.notes)
    assert note in said and bool(note) == bool(said)


MIXED = ["2020-01-31T12:00:00Z", "2020-01-31 12:00:00"]


@pytest.mark.parametrize(("texts", "kind"), [
    (["2020-01-31T12:00:00Z", "2020-01-31"], "TIMESTAMP_LTZ(3)"), (MIXED, "TIMESTAMP(3)"), (MIXED[1:], "TIMESTAMP(3)"),
])  # fmt: skip
def test_moments_that_name_a_zone_keep_it(texts, kind):
    proposal = propose(samples(encoded({"a": {f"k{n}": text}} for n, text in enumerate(texts))))
    assert kind in proposal.statement("o", {})


def test_objects_are_rows_or_maps():
    customer = {"mail": "a", "born": "1999-01-01"}
    orders = [{"c": customer, "empty": {}, "by": {f"k{i}{j}": j for j in range(9)}} for i in range(9)]
    proposal = propose(samples(encoded(orders)))
    assert labels(proposal) == {"c.mail": "string", "c.born": "Date", "by": "map<string,int64?>"}
    assert {n.path for n in proposal.notes} == {"empty", "by"}
    assert "k0" not in proposal.statement("o", {}), "what may be data is not shown"


def test_names_that_look_personal_are_no_columns():
    mail, card = "ada@example.org", "4111 1111 1111 1111"
    rows = [{"id": 1, mail: mail, "points": {card: 5, mail: 6}}, {"id": 2, "points": {"old": 1, card: 2}}, {"id": 3}]
    proposal = propose(samples(encoded(rows), [mail.encode()]))
    assert labels(proposal) == {"id": "int64", "points.old": "int64", "key": "string"}
    statement = proposal.statement("orders", {})
    assert "-- 1 of its names look personal themselves" in statement
    assert "  -- points 2 of its names look personal themselves" in statement
    assert mail not in statement and "4111" not in statement
    only = propose(samples(encoded([{"points": {mail: 1, card: 2}}])))
    assert labels(only) == {"points": "map<string,int64?>"}


def test_fields_that_a_chain_changes_keep_the_types_of_json():
    hide = {"transforms.m.type": "MaskField$Value", "transforms.m.fields": "c.born"}
    hide |= {"transforms.m.field.syntax.version": "V2"}
    drop = {"transforms.f.type": "io.confluent.connect.transforms.Filter$Value", "transforms.f.filter.type": "include"}
    drop |= {"transforms.f.filter.condition": "$[?(@.due > '2020-01-01')]"}
    chain = {"transforms": "m,f", **hide, **drop}
    order = {"c": {"born": "1999-01-01", "died": "1999-01-01"}, "due": "2020-01-01", "paid": "2020-01-01"}
    proposal = propose_beside(parse_chain(chain), samples(encoded([order])), with_key=False)
    assert labels(proposal) == {"c.born": "string", "c.died": "Date", "due": "string", "paid": "Date"}


LONG = (7).to_bytes(8, "big")
KEYS = [
    ([None, None], {}, "empty"),
    ([b"a1", b"a2"], {"key": "string"}, "string"),
    ([b"1", b"2"], {}, "the value's field id"),
    ([(1).to_bytes(8, "big"), (2).to_bytes(8, "big")], {}, "the value's field id"),
    ([LONG, LONG], {"key": "int64"}, "long"),
    ([b"\xff\xfe\xfd", b"\xff"], {"key": "bytes"}, "not texts"),
    ([b'{"shop":1,"at":"2020-01-01"}', b'{"shop":2}'], {"key_shop": "int64", "key_at": "Date"}, "json"),
    ([b"\0\0\0\0\x05abc", b"\0\0\0\0\x05abd"], {}, "name a schema of a registry"),
]


@pytest.mark.parametrize(("keys", "columns", "text"), KEYS)
def test_keys(keys, columns, text):
    proposal = propose(samples(encoded([{"id": 1}, {"id": 2}]), keys))
    assert labels(proposal) == {"id": "int64", **columns}
    statement = proposal.statement("orders", {"topic": "orders"})
    assert text in statement
    rows = read(proposal, samples(encoded([{"id": 1}, {"id": 2}]), keys))
    assert not any(step.failed for _, steps in rows for step in steps)


def read(proposal, records):
    table = table_of(proposal)
    return list(preview(NOTHING, records, table.key, table.value))


VALUES = [
    ([b'{"a":1}', b"{", None, b"{}"], "json", ["1 of 4 values are null", "1 of 4 values are not JSON"]),
    ([b'[{"a":1},{"a":2}]', b"[]"], "json", ["arrays of objects"]),
    ([b'{"schema":{"type":"struct","fields":[]},"payload":{}}'], "envelope", ["bring their schema along"]),
    ([b"\0\0\0\0\x05abc", b"\0\0\0\0\x07abc"], "avro-confluent", ["name their schema"]),
    ([b"a text", b"another"], "string", []),
    ([b"5", b"6"], "string", []),
    ([b'"a"', b'"b"'], "json", ["one string"]),
    ([LONG, LONG], "long", []),
    ([b"\xff\xfe", b"\xff\xfe\xff"], "bytes", []),
]


@pytest.mark.parametrize(("values", "kind", "remarks"), VALUES)
def test_formats_of_values(values, kind, remarks):
    proposal = propose(samples(values))
    assert proposal.value.kind == kind
    assert all(any(text in remark for remark in proposal.remarks) for text in remarks)
    if proposal.columns:
        fine = [v for v in values if v not in (None, b"{")]
        assert not any(step.failed for _, steps in read(proposal, samples(fine)) for step in steps)


def test_ids_of_schemas_are_counted():
    assert encoding_of([b"\0\0\0\0\x05abc", b"\0\0\0\0\x07abc", None]).ids == {5, 7}


@pytest.mark.parametrize("values", [[], [None, None]])
def test_without_a_value_nothing_can_be_told(values):
    with pytest.raises(TableError, match="SMT539"):
        propose(samples(values))


TEXTS = ("1999-01-01", "2020-01-01T00:00:00Z", "2020-01-01 10:00:00.1234567", "1.50", "12", "word", "", "🙂 `'\n")
NAMES = ("a", "A", "b c", "d.e", "`", "key", "CONSTRAINT", "é\n", "")


def random_value(chance, depth=0):
    kind = chance.randrange(12 if depth < 3 else 8)
    if kind < 4:
        return chance.choice((None, True, 5, -(2**40), 2**65, 1.25, 1e300, 1_700_000_000_123))
    if kind < 8:
        return chance.choice(TEXTS)
    if kind < 10:
        return [random_value(chance, depth + 1) for _ in range(chance.randrange(3))]
    return random_object(chance, depth + 1)


def random_object(chance, depth=0):
    return {name: random_value(chance, depth) for name in chance.sample(NAMES, chance.randrange(1, 5))}


@pytest.mark.parametrize("seed", range(60))
def test_every_record_can_be_read_unless_a_note_says_otherwise(seed):
    """A sweep: the statement is read back, and each record looked at is a row of it, or a note counts it."""
    chance = random.Random(seed)
    one_kind = chance.random() < 0.5
    shapes = [random_object(chance) for _ in range(1 if one_kind else 4)]
    records = samples(encoded(chance.choice(shapes) for _ in range(12)), [b"k1", None, b"k2"])
    proposal = propose(records)
    failed = sum(steps[-1].failed for _, steps in read(proposal, records))
    misfits = sum(note.misfits for note in proposal.notes)
    assert failed <= misfits, proposal.statement("t", {})
    assert bool(failed) == bool(misfits)


@pytest.mark.parametrize("levels", [900, 5_000])
def test_a_value_that_nests_too_deeply_is_broken_and_hides_no_other(levels):
    deep = b'{"b":' * levels + b"1" + b"}" * levels
    values = [b'{"a":1}', deep, deep, b'{"a":2}', b'{"a":3}']
    statement = propose(samples(values)).statement("t", {"topic": "t"})
    assert "a BIGINT" in statement and "b ROW" not in statement


def test_a_value_with_half_a_character_is_compared_with_the_key():
    """JSON may have the half as an escape; it has no bytes in UTF-8, so no key equals it."""
    proposal = propose(samples([b'{"name": "ada \\ud800", "id": "k"}'], [b"k"]))
    assert (proposal.records, proposal.notes) == (1, [])
