"""JSON Pointers in references of a JSON Schema."""

import pytest

from dagster_smt.formats.json_schema.pointer import part_at

DOCUMENT = {
    "definitions": {"address": 1, "home address": 2, "a/b": 3, "a~b": 4, "a~1b": 5, "100%": 6},
    "allOf": [{"type": "object"}, 7],
}
PARTS = [
    ("", DOCUMENT),
    ("/definitions/address", 1),
    ("/definitions/home%20address", 2),
    ("/definitions/home address", 2),
    ("/definitions/a~1b", 3),
    ("/definitions/a~0b", 4),
    ("/definitions/a~01b", 5),
    ("/definitions/100%25", 6),
    ("/allOf/1", 7),
    ("/allOf/0/type", "object"),
    ("/allOf/2", None),
    ("/allOf/-1", None),
    ("/allOf/x", None),
    ("/nothing/here", None),
    ("/definitions/address/deeper", None),
]


@pytest.mark.parametrize(("pointer", "part"), PARTS)
def test_a_pointer_has_one_part(pointer, part):
    assert part_at(DOCUMENT, pointer) == part
