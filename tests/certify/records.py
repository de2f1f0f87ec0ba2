"""Chains and records for tests of certificates."""

import json

from dagster_smt.chain import parse_chain
from dagster_smt.interpret.preview import Sample

KAFKA = "org.apache.kafka.connect.transforms."
SECRET = "sEcReT@example.com"


def chain_of(*stages, **more):
    """Returns a chain of (class, options) pairs, whose aliases are ``a``, ``b``, …"""
    listed = []
    for number, (name, options) in enumerate(stages):
        type_ = name if "." in name else KAFKA + name
        listed.append({"alias": "abcdefgh"[number], "type": type_, "options": options})
    return parse_chain({"stages": listed}, **more)


MASK = ("MaskField$Value", {"fields": "email"})
CAST = ("Cast$Value", {"spec": "amount:float64"})
MARK = ("InsertHeader", {"header": "mark", "value.literal": "7"})
CHAIN = chain_of(MASK, CAST, MARK)


def samples(*values, topic="orders", **more):
    """Returns records with JSON values; bytes and None stay as they are."""
    records = []
    for number, value in enumerate(values):
        data = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        records.append(Sample(topic, 0, number, 1556204536123, b"k", data, **more))
    return records


ORDERS = samples(
    {"id": 1, "email": SECRET, "amount": "1.5"},
    {"id": 2, "email": SECRET, "amount": "none"},
    {"id": 3, "email": None, "amount": 7},
    None,
)
ROW = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"field": "id", "type": "int64", "optional": False},
        {"field": "email", "type": "string", "optional": True},
        {"field": "amount", "type": "string", "optional": True},
    ],
}


def envelope(**payload):
    """Returns a record of ``ROW`` as Connect's JSON converter writes it."""
    return json.dumps({"schema": ROW, "payload": payload}).encode()
