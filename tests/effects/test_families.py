"""Which effects a transform may have together."""

import pytest

from dagster_smt.effects.condition import Always
from dagster_smt.effects.effect import (
    AddHeader,
    Change,
    CopyToHeader,
    Drop,
    Extract,
    Rebuild,
    Reject,
    Rename,
    family_of,
)
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.transforms.kafka.mask_field import Mask
from dagster_smt.values.containers import NewName

A = FieldPath("a", ("a",))
CHANGE, RENAME = Change(A, Mask(None)), Rename(A, NewName("b"), "b")


@pytest.mark.parametrize(
    "effects",
    [
        (),
        (Rebuild(),),
        (CHANGE, CHANGE),
        (Rebuild(), Drop(A), RENAME),
        (CopyToHeader(A, "h"), Drop(A)),
        (Reject(Always()),),
    ],
)
def test_a_family_is_the_kinds_of_its_effects(effects):
    assert family_of(effects) == {type(effect) for effect in effects} - {Rebuild}


@pytest.mark.parametrize(
    "effects",
    [
        (CHANGE, Drop(A)),
        (Reject(Always()), CHANGE),
        (AddHeader("a", "1"), AddHeader("b", "2")),
        (Extract(A, ""), Extract(A, "")),
        (CopyToHeader(A, "h"), RENAME),
    ],
)
def test_others_are_refused_and_none_is_left_out(effects):
    names = ", ".join(type(effect).__name__ for effect in effects)
    with pytest.raises(TypeError, match=f"cannot have these effects together: {names}"):
        family_of(effects)
