"""Builds cases from the documented examples of transforms. The cases measure the classes for which
``benchmarks.transforms`` lists no options. Each case processes the record of an example many times.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from pyspark.sql import functions as F

from benchmarks.cases import Setting, declared_records, lazy_records, plan_of
from benchmarks.records import START, value_of, value_schema
from dagster_smt.authoring.transform import Example
from dagster_smt.chain.parse import parse_chain
from dagster_smt.errors import PlanError
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.examples import is_envelope, schema_of
from dagster_smt.interpret.interpreter import PASSED, Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import Format


@dataclass(frozen=True)
class ExampleRecord:
    """The record of a documented example, as a JSON value to measure. If the example shows a key or header instead of a
    value, the benchmark's own value is used.
    """

    example: Example

    @cached_property
    def text(self) -> str:
        """The value as JSON text. If the example has an envelope with a schema, only the payload is used."""
        value = json.loads(self.example.before) if self._is_value else value_of(Random(1), START)
        return json.dumps(value["payload"] if is_envelope(value) else value)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the value: the schema in the example's envelope, or a schema derived from the value."""
        value = json.loads(self.example.before) if self._is_value else None
        if value is None:
            return value_schema()
        if is_envelope(value):
            data = side_codec(Format("envelope")).read(self.example.before.encode())[0]
            assert data is not None
            return data
        return schema_of(value)

    @property
    def _is_value(self) -> bool:
        return (self.example.input_part or self.example.shows) == "value"

    def lazy(self, chain: dict[str, str]) -> Callable[[Setting], None]:
        """Returns a case that runs ``chain`` on this record many times, without a schema; see ``cases.lazy``."""
        return lambda s: lazy_records(self._records(s), chain, ledger=True)

    def declared(self, chain: dict[str, str]) -> Callable[[Setting], None]:
        """Returns a case that runs ``chain`` on this record many times, with its schema declared; see
        ``cases.declared``.
        """
        return lambda s: declared_records(self._records(s), chain, self.schema, ledger=True, discard=True)

    def goes_through(self, chain: dict[str, str], word: str) -> bool:
        """Returns True if the record passes through ``chain``. A record that fails or is dropped cannot show the
        chain's speed.

        Args:
            chain: The ``transforms`` properties.
            word: ``declared`` if the record has a declared schema, ``lazy`` if it has none.
        """
        schema = self.schema if word == "declared" else None
        try:
            plan_of(chain, schema)
        except PlanError:
            return False
        form = Format("json") if schema is None else Format("json_schema", schema)
        interpreter, record = Interpreter(parse_chain(chain), None, form), Record("payments", 0, 42, 0, "CreateTime")
        outcomes = (lambda: interpreter.read(record, None, self.text.encode()), lambda: interpreter.run(record))
        done = all(step().status == PASSED for step in outcomes) and interpreter.write(record)[0].status == PASSED
        return done and not (schema is not None and record.value is None)  # a table of columns needs a value

    def _records(self, setting: Setting) -> Setting:
        value = F.lit(self.text).cast("binary") if self._is_value else F.col("value")
        return replace(setting, frame=setting.frame.withColumn("value", value))
