"""Records with hidden sides: what is put in their place stays, however often a stage replaces something."""

from dataclasses import replace

import pytest

from dagster_smt.chain.plan import input_record
from dagster_smt.errors import ClassError
from dagster_smt.model.guarded import hidden, revealed, undeclared
from dagster_smt.model.schema import STRING, optional

RECORD = input_record(STRING, optional(STRING), ("orders",), nullable=True)


@pytest.mark.parametrize("unseen", [("key",), ("value",), ("key", "value")], ids=str)
@pytest.mark.parametrize("side", ["key", "value"])
def test_what_is_replaced_stays_replaced(unseen, side):
    seen = hidden(RECORD, {name: undeclared("T", name) for name in unseen})
    once = replace(seen, **{side: None})
    twice = replace(replace(once, dropped=True), kind="source")
    assert revealed(twice, RECORD) == replace(RECORD, **{side: None}, dropped=True, kind="source")
    again = replace(twice, **{side: getattr(RECORD, side)})
    assert revealed(again, RECORD) == replace(RECORD, dropped=True, kind="source")
    for name in unseen:
        if name != side:
            with pytest.raises(ClassError):
                getattr(twice, name)
