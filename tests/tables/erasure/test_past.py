"""The old versions of a table: which of them Delta is told of as removed."""

from types import SimpleNamespace

import pytest

from dagster_smt.tables.erasure import past


@pytest.mark.parametrize(
    ("names", "noted"),
    [
        (["00000000000000000011.json", "00000000000000000012.json"], [11]),  # Delta 4.0 rejects a note of 10
        (["00000000000000000000.json", "00000000000000000001.json"], []),
        (["00000000000000000013.checkpoint.parquet", "_last_checkpoint"], []),
    ],
)
def test_a_log_that_lost_its_beginning_is_noted_with_its_first_version(monkeypatch, names, noted):
    files = SimpleNamespace(below=lambda folder: [SimpleNamespace(inside=f"_delta_log/{name}") for name in names])
    versions = []
    monkeypatch.setattr(past, "_location", lambda session, table: "/lake/orders")
    monkeypatch.setattr(past, "files_of", lambda session, folder: files)
    monkeypatch.setattr(past, "note_vacuum", lambda session, path, table, version: versions.append(version))
    past._note_begin_of_log(None, SimpleNamespace(spec=SimpleNamespace(path="/lake/orders", table=None)))
    assert versions == noted
