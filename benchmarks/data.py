"""Defines the data sets of the benchmark: the kind of their records, and the number of records."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.cases import Setting
from benchmarks.nested_records import nested_value
from benchmarks.records import Value, ensure, value_of
from benchmarks.wide_records import wide_value

_WEBHOOKS = Path(__file__).parents[1] / "definitions" / "demo" / "topics"


@cache
def webhooks() -> tuple[dict[str, Any], ...]:
    """Returns the values of GitHub's webhooks in the demo. They come from ``@octokit/webhooks-examples``."""
    files = sorted(_WEBHOOKS.glob("*/*/*.jsonl"))
    return tuple(json.loads(json.loads(line)["value"]) for file in files for line in file.read_text().splitlines())


def webhook(rng: random.Random, at: datetime) -> dict[str, Any]:
    """Returns a random webhook of the demo. ``at`` is not used."""
    return rng.choice(webhooks())


@dataclass(frozen=True)
class DataSet:
    """Records of one kind.

    Attributes:
        make: Makes the value of a record from random numbers and a timestamp.
        share: The divisor of the number of records, because records of this kind are longer. With ``share=10``, 1000
            requested records give 100.
        most: The largest number of records.
    """

    make: Value
    share: int = 1
    most: int = 10**9

    def records(self, asked: int) -> int:
        """Returns the number of records in the data set if the command line asks for ``asked`` records."""
        # two minus signs round up: 7 records of share 10 are 1 record
        return min(-(-asked // self.share), self.most)


DATA = {
    "flat": DataSet(value_of),
    "nested": DataSet(nested_value, 10),
    "wide": DataSet(wide_value, 16),
    "webhooks": DataSet(webhook, 50),
    "flat, 100,000": DataSet(value_of, most=100_000),
    "flat, 1,000": DataSet(value_of, most=1000),
}


class Settings(Mapping[str, Setting]):
    """Maps the name of each data set to the input of its cases. The records are written to disk on first use, and stay
    there.
    """

    def __init__(self, session: SparkSession, folder: Path, records: int, scratch: Path):
        self._session, self._folder, self._records, self._scratch = session, folder, records, scratch
        self._settings: dict[str, Setting] = {}

    def __getitem__(self, name: str) -> Setting:
        if name not in self._settings:
            data = DATA[name]
            count = data.records(self._records)
            # the records of "flat, 1,000" are in the folder flat-1000-v1
            folder = ensure(self._folder, count, name.partition(",")[0], data.make)
            scratch = self._scratch / name.replace(", ", "-").replace(",", "") / "out"
            scratch.parent.mkdir(parents=True, exist_ok=True)
            self._settings[name] = Setting(self._session.read.parquet(str(folder)), count, scratch, folder)
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(DATA)

    def __len__(self) -> int:
        return len(DATA)
