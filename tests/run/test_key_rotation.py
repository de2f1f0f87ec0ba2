"""A rotated key ring: old rows have pseudonyms of the old key, until a replay writes them with the new one."""

import base64
import json
import secrets

import pytest

from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import World

PEOPLE = ("anna@example.org", "bert@example.org", "cleo@example.org")
SCHEMA = Format("json_schema", parse_ddl("id INT, mail STRING"))


class Table(World):
    sink_type = IcebergSink

    def add_people(self, first):
        values = [{"id": first + n, "mail": mail} for n, mail in enumerate(PEOPLE)]
        self.add(*(NewRecord(None, json.dumps(value).encode(), (), 1700000000000) for value in values))

    def run_with(self, ring, **changes):
        chain = {"transforms": "p", "transforms.p.type": "Pseudonymize$Value", "transforms.p.fields": "mail"}
        return self.run({**chain, "transforms.p.key.ring": ring}, "columns", SCHEMA, **changes)

    def pseudonyms(self):
        return {row.id: row.mail for row in self.table.read().collect()}


@pytest.mark.long
def test_a_replay_after_a_rotation_keeps_joins(spark, tmp_path):
    """Two tables of the same people: they join before the rotation, and again once both were replayed."""
    keys = tmp_path / "keys.properties"
    lines = [f"{name}={base64.b64encode(secrets.token_bytes(32)).decode()}" for name in ("old", "new")]
    keys.write_text("\n".join(lines))
    old, new = (f"k{number}=${{file:{keys}:{name}}}" for number, name in enumerate(("old", "new"), 1))
    tables = [Table(tmp_path / name, spark) for name in ("orders", "visits")]
    for table in tables:
        table.add_people(0)
        table.run_with(old)
    before = tables[0].pseudonyms()
    assert before == tables[1].pseudonyms() and len(set(before.values())) == 3
    for table in tables:
        table.add_people(3)
        table.run_with(f"{new}, {old}")
    mixed = tables[0].pseudonyms()
    assert mixed == tables[1].pseudonyms() and len(set(mixed.values())) == 6  # each person has a pseudonym of each key
    tables[0].run_with(f"{new}, {old}", rebuild=True)
    tables[1].run_with(f"{new}, {old}", window=WindowRequest(everywhere=(0, 3)))
    after = tables[0].pseudonyms()
    assert after == tables[1].pseudonyms() and [after[n] for n in range(3)] == [after[n] for n in range(3, 6)]
    assert set(after.values()) == {mixed[n] for n in range(3, 6)} and not set(after.values()) & set(before.values())
    tables[0].run_with(new, rebuild=True)  # without the old key
    assert tables[0].pseudonyms() == after
