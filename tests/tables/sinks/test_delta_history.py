"""Which commit of ours a Delta table stands on, told from its log: a table of logs, and how they end."""

import pytest

from dagster_smt.tables.sinks.delta_history import Commit, standing

APPEND = ("WRITE", {"mode": "Append"})
OURS = "ours"


def back_to(version):
    return ("RESTORE", {"version": str(version), "timestamp": None})


def log(*commits, first=0):
    """A log from its commits, the oldest first: ours by a number, others by operation and parameters."""
    results = []
    for version, what in enumerate(commits, first):
        if isinstance(what, int):
            results.append(Commit(version, version, "WRITE", {"mode": "Append"}, f"{OURS}{what}", {}, version - 1))
        else:
            results.append(Commit(version, version, *what))
    return results[::-1]


def decode(text):
    return text if text and text.startswith(OURS) else None


STANDS = {
    "the last one": (log(1, 2, 3), "ours3"),
    "others appended since": (log(1, 2, APPEND, ("OPTIMIZE", {"predicate": "[]"}), ("VACUUM END", {})), "ours2"),
    "some rows were deleted": (log(1, 2, ("DELETE", {"predicate": '["(id = 1)"]'})), "ours2"),
    "some rows were replaced": (log(1, 2, ("WRITE", {"mode": "Overwrite", "predicate": "id < 3"})), "ours2"),
    "rows were merged": (log(1, 2, ("MERGE", {"predicate": "[]", "matchedPredicates": "[]"})), "ours2"),
    "restored": (log(1, 2, 3, back_to(1)), "ours2"),
    "restored by delta-rs": (log(1, 2, 3, ("RESTORE", {"version": 0})), "ours1"),
    "restored to a moment by delta-rs": (log(1, 2, 3, ("RESTORE", {"datetime": "1"})), "ours2"),
    "restored, and ours went on": (log(1, 2, 3, back_to(0), 4), "ours4"),
    "restored twice": (log(1, 2, 3, back_to(0), 4, back_to(2)), "ours3"),
    "restored to a restored one": (log(1, 2, 3, back_to(0), APPEND, 4, back_to(4)), "ours1"),
    "restored to before our first one": (log(("CREATE TABLE", {}), 1, 2, back_to(0)), None),
    "a table of others": (log(APPEND, APPEND), None),
    "ours replaced what others had": (log(APPEND, 1), "ours1"),
    "what others replaced is restored away": (log(1, 2, ("TRUNCATE", {}), back_to(1)), "ours2"),
}
REPLACED = {
    "overwritten": ("WRITE", {"mode": "Overwrite", "partitionBy": "[]"}),
    "overwritten by delta-rs": ("WRITE", {"mode": "Overwrite"}),
    "made anew": ("CREATE OR REPLACE TABLE AS SELECT", {"isManaged": "false"}),
    "replaced": ("REPLACE TABLE", {}),
    "cloned": ("CLONE", {"source": "x"}),
    "emptied": ("DELETE", {"predicate": '["true"]'}),
    "emptied by delta-rs": ("DELETE", {}),
    "truncated": ("TRUNCATE", {}),
    "a stream that writes all anew": ("STREAMING UPDATE", {"outputMode": "Complete"}),
}


def at(restore, commits):
    """The version of a moment."""
    return int(restore.parameters["datetime"])


@pytest.mark.parametrize("name", STANDS)
def test_the_state_is_that_of_the_version_that_the_table_stands_on(name):
    commits, expected = STANDS[name]
    result = standing(commits, decode, at)
    assert (result.state, result.replaced, result.lost, result.ended) == (expected, None, "", False)


@pytest.mark.parametrize("name", REPLACED)
def test_what_others_have_replaced_is_told(name):
    result = standing(log(1, 2, REPLACED[name], APPEND), decode, at)
    assert result.state == "ours2" and result.replaced.version == 2
    assert standing(log(1, REPLACED[name], 2), decode, at).replaced is None  # ours went on: somebody settled it


@pytest.mark.parametrize("other", [back_to(0), REPLACED["overwritten"], REPLACED["emptied"]])
def test_what_others_did_while_our_commit_was_written_is_told(other):
    """Delta puts an append on top of it without a word."""
    commits = log(1, 2, other, 3)
    assert standing(commits, decode, at).replaced is None
    late = [Commit(3, 3, "WRITE", {"mode": "Append"}, "ours3", {}, 1), *commits[1:]]
    result = standing(late, decode, at)
    assert result.state == "ours3" and result.replaced.version == 2


def test_a_version_that_the_log_has_lost():
    assert standing(log(APPEND, back_to(3), first=9), decode, at).lost == "version 3"
    assert standing(log(APPEND, back_to(3), first=9), decode, at, whole=False).ended
    assert standing(log(APPEND, APPEND, first=9), decode, at).ended


def test_a_moment_that_cannot_be_told():
    restore = ("RESTORE", {"version": None, "timestamp": "2026-01-31 12:00:00"})
    result = standing(log(1, 2, restore), decode, lambda *_: None)
    assert result.state is None and "2026-01-31" in result.lost
