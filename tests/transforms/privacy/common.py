"""Rows about the options that all transforms of this folder have: the same sentence for each class."""

import json

from tests.transforms.helpers import Case, envelope, refusal

_MAP = {
    "schema": {
        "type": "struct",
        "optional": False,
        "fields": [
            {
                "field": "m",
                "type": "map",
                "keys": {"type": "string", "optional": False},
                "values": {"type": "string", "optional": False},
                "optional": False,
            }
        ],
    },
    "payload": {"m": {"k": "x"}},
}


def rows(options, before, after, name):
    """Rows for a class that turns the text ``before`` into ``after``.

    Args:
        options: Options without ``fields``.
        before, after: Texts.
        name: The class with its side, as messages have it.
    """
    inside = options | {"fields": "a.b", "field.syntax.version": "V2"}
    strict = options | {"fields": "m.k", "field.syntax.version": "V2", "strict_paths": "kafka"}
    plain = options | {"fields": "a"}
    default = f"a:string?={json.dumps(before)}"
    return (
        Case("V2 paths", inside, json.dumps({"a": {"b": before}}), json.dumps({"a": {"b": after}})),
        Case("V1: a dot is part of the name", options | {"fields": "a.b"}, json.dumps({"a": {"b": before}}),
             json.dumps({"a": {"b": before}}), touches=()),
        Case("a null becomes its default, and then changes", plain, envelope(default, '{"a":null}'),
             envelope("a:string?", json.dumps({"a": after}))),
        Case("a null stays null without defaults", plain | {"replace.null.with.default": "false"},
             envelope(default, '{"a":null}'), envelope("a:string?", '{"a":null}')),
        refusal("a step into a map as Kafka has it", strict, json.dumps(_MAP),
                f"SMT202 transforms.t ({name}): 'k' is a step into a map"),
    )  # fmt: skip
