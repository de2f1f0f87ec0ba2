"""Makes the wide records of the benchmark, which have 300 fields. Most fields are short strings."""

import random
from datetime import datetime
from typing import Any

from dagster_smt.model.schema import Schema, Type

FIELDS = 300
_WORDS = "ash birch cedar elm fir hazel larch maple oak pine rowan spruce willow yew".split()


def wide_value(rng: random.Random, at: datetime) -> dict[str, Any]:
    """Returns a random wide value. ``at`` is not used."""
    return {f"field_{n}": _field(n, rng) for n in range(FIELDS)}


def _field(number: int, rng: random.Random) -> Any:
    if number % 10 == 0:
        return rng.randrange(10**6)
    if number % 10 == 5:
        return rng.random() < 0.5
    return rng.choice(_WORDS)


def wide_schema() -> Schema:
    """Returns the declared schema of the wide values. Every field is optional."""
    kinds = {0: Type.INT64, 5: Type.BOOLEAN}
    fields = ((f"field_{n}", Schema(kinds.get(n % 10, Type.STRING), optional=True)) for n in range(FIELDS))
    return Schema(Type.STRUCT, fields=tuple(fields))
