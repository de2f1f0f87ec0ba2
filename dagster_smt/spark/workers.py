"""Runs functions of this package in Spark's Python workers, and saves them from reading the directories of jars before
each task.

Spark puts jars on the module path of its Python workers, because some jars contain Python modules. Before each task, a
worker calls ``importlib.invalidate_caches``, so Python reads the zip directory of each jar again. This takes 0.1 to 0.5
seconds: Iceberg's jar alone has 25,000 entries.

Jars do not change while a process runs, so this module lets a worker read each directory only once. The directory of a
jar without Python modules is then removed from memory. All these directories would take up 70 MB in each worker.
"""

import base64
import json
import re
import sys
import zipimport
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast
from zipimport import zipimporter

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from dagster_smt.errors import EngineError, Problem
from dagster_smt.spark.types import nullable

Batches = Iterable[pa.RecordBatch]
_SMALL = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
_MOST_BYTES = 1 << 30
_MARK = "dagster_smt.problems="
_DATA = re.compile(rf"{re.escape(_MARK)}([\w-]+=*)")


def map_in_arrow(frame: DataFrame, function: Callable[[Batches], Batches], schema: StructType | str) -> DataFrame:
    """Calls ``DataFrame.mapInArrow`` with ``function``, a picklable function of this package. ``schema`` describes the
    result. The result allows nulls in every column, even if ``schema`` does not, because the fields of a failed record
    are null. Spark would crash at a null in a column that allows no nulls.
    """
    if isinstance(schema, StructType):
        schema = cast("StructType", nullable(schema))
    return frame.mapInArrow(_InWorker(function), schema)


@dataclass(frozen=True)
class _InWorker:
    """A picklable function for ``DataFrame.mapInArrow``. It calls ``function`` with batches that have 32-bit offsets.
    An ``EngineError`` becomes a ``WorkerError``, whose problems the driver can read.
    """

    function: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        keep_directories()
        try:
            yield from self.function(small_offsets(batches))
        except EngineError as error:
            raise WorkerError(error) from None


class WorkerError(Exception):
    """An ``EngineError`` in a Spark worker. The text of this exception ends with the list of problems, as encoded JSON.

    Spark passes only the text of a worker's exception to the driver. The driver calls ``problems_of_worker``, which
    extracts the problems from the text again.
    """

    def __init__(self, error: EngineError):
        data = json.dumps([asdict(problem) for problem in error.problems]).encode()
        super().__init__(f"{error} {_MARK}{base64.urlsafe_b64encode(data).decode()}")


def problems_of_worker(text: str) -> tuple[Problem, ...]:
    """Returns the problems of a ``WorkerError`` from ``text``, the text of Spark's exception. For any other exception,
    the result is empty.
    """
    match = _DATA.search(text)
    if match is None:
        return ()
    problems = []
    for fields in json.loads(base64.urlsafe_b64decode(match[1])):
        problems.append(Problem(**fields))
    return tuple(problems)


def small_offsets(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Converts Arrow types with 64-bit offsets in ``batches`` into types with 32-bit offsets, such as ``large_string``
    into ``string``. Yields the batches. Leaves out batches without rows.

    Spark sends 64-bit offsets if ``spark.sql.execution.arrow.useLargeVarTypes`` is true. The functions of this package
    read buffers with 32-bit offsets.
    """
    for batch in batches:
        # Spark 3.5 may send a batch without rows, whose offset buffers are so short that Arrow crashes
        if not batch.num_rows:
            continue
        kinds = [_small(field.type) for field in batch.schema]
        if kinds == batch.schema.types:
            yield batch
            continue
        for part in _halves(batch):
            columns = [column.cast(kind) for column, kind in zip(part.columns, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _halves(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yields ``batch`` in parts of at most ``_MOST_BYTES`` (1 GiB), because 32-bit offsets reach only 2 GiB."""
    # one row cannot be divided, however large it is
    if batch.nbytes <= _MOST_BYTES or batch.num_rows < 2:
        yield batch
        return
    middle = batch.num_rows // 2
    for rows in (range(middle), range(middle, batch.num_rows)):
        yield from _halves(batch.take(pa.array(rows)))  # a slice would keep its 64-bit offsets


def _small(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_small(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_small(kind.key_type), _small(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(_small(kind.value_type)))
    return _SMALL.get(kind, kind)


class AtRest:
    """A wrapper around a function of a UDF. Spark pickles the wrapper, and sends it to a worker. There, unpickling
    calls ``keep_directories`` and returns the function itself.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any]]:
        return _in_worker, (self.function,)


def _in_worker(function: Callable[..., Any]) -> Callable[..., Any]:
    keep_directories()
    return function


class _Steady(zipimporter):
    """An importer for an archive, which reads the directory of the archive only once."""

    def invalidate_caches(self) -> None:
        """Does nothing, so that the cached directory of the archive stays."""


class _Nothing:
    """An importer for an archive without Python modules."""

    def find_spec(self, name: str, target: object = None) -> None:
        """Returns None, because the archive has no module."""

    def invalidate_caches(self) -> None:
        """Does nothing, because there is no cache."""


def keep_directories() -> None:
    """Makes this process keep the zip directories of the jars on its module path, so that Python does not read them
    again before each task. A worker's first task calls this function.
    """
    finders: dict[str, Any] = sys.path_importer_cache
    for place, finder in list(finders.items()):
        # not ``isinstance``, which would also replace the finders of an earlier call
        if type(finder) is zipimporter:
            # ``_files`` is private; if a later Python has no such attribute, the archive counts as one with modules
            if any(name.endswith((".py", ".pyc")) for name in getattr(finder, "_files", (".py",))):
                finders[place] = _Steady(place)
            else:
                finders[place] = _Nothing()
                # Python also keeps the directory in this module
                getattr(zipimport, "_zip_directory_cache", {}).pop(place, None)
