"""Spark's ways in a certificate: each is compared, and a wrong rule of one way is found."""

import json

import pytest
from pyspark.sql import types as T

from dagster_smt.certify import certify, column_types
from dagster_smt.certify.spark_ways import spark_ways
from dagster_smt.jvm.program import program_of
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.records import jvm_records
from dagster_smt.spark.ways import COLUMNS_IN_JVM, COLUMNS_IN_PYTHON, RECORDS_IN_JVM
from dagster_smt.values.cast import CastTo
from tests.certify.records import MARK, MASK, ORDERS, chain_of, envelope, samples

CHAIN = chain_of(MASK, ("Cast$Value", {"spec": "id:string"}), MARK)
ENVELOPES = samples(envelope(id=1, email="x", amount="1.5"), envelope(id=2, email=None, amount="2.5"))


def ways(certificate):
    return {way.name: way.records for way in certificate.ways}


def test_records_in_the_jvm(spark, monkeypatch):
    certificate = certify(CHAIN, ORDERS, more_ways=spark_ways(spark))
    assert certificate.verdict == "equal"
    assert ways(certificate)[RECORDS_IN_JVM.name] > 0 and ways(certificate)[COLUMNS_IN_JVM.name] == 0
    other = chain_of(MASK, ("Cast$Value", {"spec": "id:float64"}), MARK)
    monkeypatch.setattr(
        jvm_records, "program_of", lambda chain, *more: program_of(chain_of_same_length(other, chain), *more)
    )
    certificate = certify(CHAIN, ORDERS, more_ways=spark_ways(spark))
    (finding,) = certificate.findings
    assert (finding.way, finding.stage, finding.decision) == (RECORDS_IN_JVM.name, 1, "")
    assert finding.first.text == "value id: Connect has a text, here a number with a fraction"


def chain_of_same_length(other, chain):
    return type(other)(other.stages[: len(chain.stages)])


@pytest.mark.long
def test_columns(spark, monkeypatch):
    form = Format("envelope")
    certificate = certify(CHAIN, ENVELOPES, value=form, more_ways=spark_ways(spark))
    assert certificate.verdict == "equal"
    assert ways(certificate)[COLUMNS_IN_JVM.name] == ways(certificate)[COLUMNS_IN_PYTHON.name] == 2
    monkeypatch.setattr(CastTo, "column", lambda self, F, value: F.lit("9"))
    certificate = certify(CHAIN, ENVELOPES, value=form, more_ways=spark_ways(spark))
    assert certificate.verdict == "different"
    assert {(f.way, f.stage) for f in certificate.findings} == {(COLUMNS_IN_JVM.name, 1), (COLUMNS_IN_PYTHON.name, 1)}


@pytest.mark.long
def test_types_of_columns(spark, monkeypatch):
    """A column of another type than Connect's schema has is a difference, even if every value is equal."""
    form = Format("envelope")
    chain = chain_of(MASK, ("Cast$Value", {"spec": "id:int16"}), ("TimestampConverter$Value", {"field": "at", **DATE}))
    records = samples(typed_row(id=1, at=86_400_000, tags=["a"]), typed_row(id=2, at=0, tags=[]))
    assert certify(chain, records, value=form, more_ways=spark_ways(spark)).verdict == "equal"
    original = column_types.spark_type
    wider = {T.ShortType(): T.IntegerType()}

    def with_wider_types(schema):
        fields = [T.StructField(f.name, wider.get(f.dataType, f.dataType)) for f in original(schema).fields]
        return T.StructType(fields)

    monkeypatch.setattr(column_types, "spark_type", with_wider_types)
    certificate = certify(chain, records, value=form, more_ways=spark_ways(spark))
    (finding,) = certificate.findings
    assert finding.first.text == "type of a column id: Connect has int, here smallint" and finding.records == 2


DATE = {"target.type": "Date"}


def typed_row(**payload):
    """Returns a record with a timestamp and an array."""
    fields = [
        {"field": "id", "type": "int64", "optional": False},
        {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
        {"field": "tags", "type": "array", "items": {"type": "string"}, "optional": True},
        {"field": "email", "type": "string", "optional": True},
    ]
    schema = {"type": "struct", "optional": False, "fields": fields}
    return json.dumps({"schema": schema, "payload": {"email": "x", **payload}}).encode()
