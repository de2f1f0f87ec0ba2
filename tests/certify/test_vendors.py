"""Our transforms of Debezium and Aiven against the real classes, on the records of the recorded cases.

Debezium's jar comes from Maven Central. Aiven's is not there: ``SMT_AIVEN_JAR`` names one, else that test is left out.
"""

import os
from collections import Counter

import pytest

from dagster_smt.certify import certify
from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, DataError
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.runtime import OwnStruct
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.tools.parity.datums import Converter
from dagster_smt.tools.parity.judge import Judge
from dagster_smt.values.headers.literals import simple_header_bytes
from tests.foreign.jar import VENDORS, missing_vendor
from tests.parity.cases import VENDORS as FILES
from tests.parity.cases import cases_of

DEBEZIUM = ("bylogicaltablerouter", "extractnewrecordstate", "headertovalue", "timezoneconverter")
CONVERTER = Converter({})
STEP = 12
"""Every so manieth case: each takes two short Java processes."""


def form_of(datums):
    """Returns the format that all datums of a side have; None if they have several."""
    forms = {next(iter(datum)) for datum in datums if datum is not None}
    if len(forms) > 1:
        return None
    return Format("envelope") if forms == {"envelope"} else Format("json")


def data_of(datum):
    return None if datum is None else next(iter(datum.values())).encode()


def samples_of_case(case):
    """Returns the records of a case as a topic would have them."""
    samples = []
    for number, record in enumerate(case["records"]):
        headers = []
        for header in record["headers"]:
            headers.append((header["key"], simple_header_bytes(*CONVERTER.read(header["value"]))))
        place = record["topic"] or "orders", record["partition"] or 0, number, record["timestamp"]
        samples.append(Sample(*place, data_of(record["key"]), data_of(record["value"]), tuple(headers)))
    return samples


def certified(case, jar=VENDORS["debezium"]):
    """Returns the certificate of a case; None if its records have no single format, or its options are refused."""
    forms = [form_of([record[side] for record in case["records"]]) for side in ("key", "value")]
    if None in forms:
        return None
    properties = {key: text for key, text in case["config"].items() if text is not None}
    try:
        chain = parse_chain(properties, unknown_options="warn", smt_jars=[jar])
        return certify(chain, samples_of_case(case), *forms)
    except (ConfigError, DataError):
        return None


def check_cases(name, jar):
    """Certifies some of the cases of a file: none is different, and some are equal."""
    (path,) = [path for path in FILES if path.name.startswith(f"{name}.")]
    verdicts, wrong = Counter(), {}
    for case in cases_of(path)[::STEP]:
        certificate = certified(case, jar)
        if certificate is None:
            continue
        verdicts[certificate.verdict] += 1
        if certificate.verdict == "different":
            wrong[case["id"]] = list(certificate.lines)
    assert wrong == {}, verdicts
    assert verdicts["equal"] > 0


@pytest.mark.long
@pytest.mark.parametrize("name", DEBEZIUM)
def test_debeziums_classes_agree_with_ours(name):
    if reason := missing_vendor("debezium"):
        pytest.skip(reason)
    check_cases(name, VENDORS["debezium"])


@pytest.mark.long
def test_a_header_that_has_lost_its_fields_is_deliberate():
    """Debezium's header has a schema without fields; its struct has them, and the values are compared."""
    if reason := missing_vendor("debezium"):
        pytest.skip(reason)
    (path,) = [path for path in FILES if path.name.startswith("extractnewrecordstate.")]
    (case,) = [case for case in cases_of(path) if case["id"] == "v-extractnewrecordstate-0489"]
    (finding,) = certified(case).findings
    assert finding.decision == "D2" and finding.first.part == "header __before"


RECORD = {"topic": "t", "partition": 0, "offset": 0, "timestamp": None, "timestampType": None, "kind": "sink",
          "key": None, "value": None, "headers": []}  # fmt: skip


@pytest.mark.parametrize(("number", "verdict"), [(7, ["D2"]), (8, None)])
def test_values_of_a_header_that_has_lost_its_fields_are_compared(number, verdict):
    schema = Schema(Type.STRUCT, fields=(("id", Schema(Type.INT32)),))
    lost = Schema(Type.STRUCT)

    def result(schema, value):
        header = {"key": "__before", "value": CONVERTER.write(schema, value)}
        return {"record": {**RECORD, "headers": [header]}}

    want, got = result(lost, OwnStruct(schema, {"id": 7})), result(schema, {"id": number})
    case = {"id": "x", "tags": [], "config": {"transforms": ""}, "records": [RECORD], "expect": {"results": [want]}}
    assert Judge({**case, "converter": {}}).explain(0, want, got) == verdict


@pytest.mark.long
def test_aivens_classes_agree_with_ours():
    jar = os.environ.get("SMT_AIVEN_JAR")
    if not jar:
        pytest.skip("SMT_AIVEN_JAR names no jar of Aiven's transforms")
    check_cases("aiven", jar)
