"""Makes the records of the benchmark. They are synthetic and the same in every run. Each data set is written once, as
Parquet with Kafka's columns.
"""

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from dagster_smt.model.schema import Schema, Type

TOPIC = "payments.eu"
PARTITIONS = 4
FILES = 8
VERSION = 1  # part of the folder's name: raise it when the records change

TEXTS = "id account name note ref amount currency country city channel device status".split()
FIELDS = dict.fromkeys(TEXTS, Type.STRING) | {
    "ts": Type.INT64,
    "items": Type.INT32,
    "score": Type.FLOAT64,
    "test": Type.BOOLEAN,
}

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
_WORDS = (
    "parcel invoice blue river seven candle market window paper garden silver early quiet train harbour field".split()
)

_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
_COLUMNS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(_HEADER)),
    ]
)


def value_schema() -> Schema:
    """Returns the declared schema of the flat values. Every field is optional."""
    return Schema(Type.STRUCT, fields=tuple((name, Schema(type_, optional=True)) for name, type_ in FIELDS.items()))


def _text_fields(rng: random.Random) -> dict[str, str]:
    return {
        "id": f"{rng.getrandbits(96):024x}",
        "account": f"DE{rng.randrange(10**18):018d}",
        "name": f"{rng.choice(_WORDS)} {rng.choice(_WORDS)}",
        "note": " ".join(rng.choices(_WORDS, k=28)),
        "ref": f"REF-{rng.randrange(10**10):010d}",
        "amount": f"{rng.randrange(10**7) / 100:.2f}",
        "currency": rng.choice(("EUR", "GBP", "SEK", "PLN")),
        "country": rng.choice(("DE", "FR", "SE", "PL")),
        "city": rng.choice(("Lyon", "Malmö", "Sopot", "Bremen")),
        "channel": rng.choice(("web", "app", "branch")),
        "device": f"{rng.getrandbits(64):016x}",
        "status": rng.choice(("booked", "pending", "rejected")),
    }


def value_of(rng: random.Random, at: datetime) -> dict[str, Any]:
    """Returns a random flat value, with ``at`` as its timestamp."""
    numbers = {"ts": int(at.timestamp() * 1000), "items": rng.randrange(1, 40), "score": rng.random()}
    return {**_text_fields(rng), **numbers, "test": rng.random() < 0.1}


Value = Callable[[random.Random, datetime], dict[str, Any]]


def _batch(first: int, count: int, make: Value) -> pa.Table:
    rng = random.Random(first)
    encode = msgspec.json.Encoder().encode
    rows: list[dict[str, Any]] = []
    for number in range(first, first + count):
        at = START + timedelta(milliseconds=number)
        value = make(rng, at)
        row = {
            "key": str(value.get("account", number)).encode(),
            "value": encode(value),
            "topic": TOPIC,
            "headers": None,
        }
        place = {"partition": number % PARTITIONS, "offset": number // PARTITIONS}
        rows.append({**row, **place, "timestamp": at, "timestampType": 0})
    return pa.Table.from_pylist(rows, schema=_COLUMNS)


def _batches(records: int, size: int, make: Value) -> Iterator[pa.Table]:
    for first in range(0, records, size):
        yield _batch(first, min(size, records - first), make)


def ensure(folder: Path, records: int, name: str = "records", make: Value = value_of) -> Path:
    """Returns the folder with the records as Parquet files. The first call writes the files.

    Args:
        folder: The folder that contains the folder of the records.
        records: The number of records.
        name: The first part of the folder's name. Different values need a different name.
        make: Makes a value. It must return the same value for the same random numbers and time.
    """
    target = folder / f"{name}-{records}-v{VERSION}"
    done = target / "_SUCCESS"
    if not done.exists():
        target.mkdir(parents=True, exist_ok=True)
        # two minus signs round up, so that no more than FILES files are written
        for number, table in enumerate(_batches(records, -(-records // FILES), make)):
            pq.write_table(table, target / f"part-{number}.parquet")
        # without this file, the next call writes the records again, because an interrupted call leaves too few
        done.touch()
    return target
