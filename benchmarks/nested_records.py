"""Makes the nested records of the benchmark: structs on several levels, arrays of twenty structs, and an e-mail address
at four paths.
"""

import random
from datetime import datetime
from typing import Any

from dagster_smt.model.schema import Schema, Type

ITEMS = 20
_WORDS = "parcel invoice blue river seven candle market window paper garden silver early quiet train harbour".split()


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def _mail(rng: random.Random) -> str:
    return "{}.{}@{}.example".format(*rng.choices(_WORDS, k=3))


def _item(rng: random.Random) -> dict[str, Any]:
    return {
        "sku": f"{rng.getrandbits(40):010x}",
        "title": _text(rng, 4),
        "quantity": rng.randrange(1, 9),
        "price": rng.randrange(10**5) / 100,
        "seller": {"name": _text(rng, 2), "email": _mail(rng), "country": rng.choice(("DE", "FR", "SE"))},
    }


def nested_value(rng: random.Random, at: datetime) -> dict[str, Any]:
    """Returns a random nested value, with ``at`` as its timestamp."""
    source = {"system": rng.choice(("web", "app")), "contact": {"email": _mail(rng), "night": rng.random() < 0.5}}
    address = {"street": _text(rng, 2), "city": _text(rng, 1), "geo": {"lat": rng.random(), "source": source}}
    customer = {"name": _text(rng, 2), "email": _mail(rng), "address": address, "notes": [_text(rng, 6)] * 3}
    return {
        "id": f"{rng.getrandbits(96):024x}",
        "at": int(at.timestamp() * 1000),
        "account": f"DE{rng.randrange(10**18):018d}",
        "status": rng.choice(("booked", "pending")),
        "email": _mail(rng),
        "customer": customer,
        "items": [_item(rng) for _ in range(ITEMS)],
    }


def nested_schema() -> Schema:
    """Returns the declared schema of the nested values. Every field is optional."""
    text, number, real = (Schema(t, optional=True) for t in (Type.STRING, Type.INT64, Type.FLOAT64))
    flag = Schema(Type.BOOLEAN, optional=True)
    source = _struct(system=text, contact=_struct(email=text, night=flag))
    address = _struct(street=text, city=text, geo=_struct(lat=real, source=source))
    customer = _struct(name=text, email=text, address=address, notes=_array(text))
    seller = _struct(name=text, email=text, country=text)
    item = _struct(sku=text, title=text, quantity=number, price=real, seller=seller)
    top = _struct(id=text, at=number, account=text, status=text, email=text, customer=customer, items=_array(item))
    return top.with_(optional=False)


def _struct(**fields: Schema) -> Schema:
    return Schema(Type.STRUCT, optional=True, fields=tuple(fields.items()))


def _array(values: Schema) -> Schema:
    return Schema(Type.ARRAY, optional=True, values=values)
