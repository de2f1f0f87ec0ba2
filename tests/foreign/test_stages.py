"""Foreign stages in the Python evaluator: each kind of behaviour of a class has its defined result."""

import json
import time
from contextlib import closing
from dataclasses import replace
from unittest.mock import Mock

import pytest

from dagster_smt.authoring.foreign_settings import ForeignSettings
from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError
from dagster_smt.foreign.check import check_options
from dagster_smt.foreign.host import HostDiedError
from dagster_smt.foreign.segment import Classes, ForeignSegment
from dagster_smt.interpret.interpreter import DROPPED_STATUS, FAILED
from dagster_smt.interpret.preview import Sample
from dagster_smt.interpret.residue import residue
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.patterns import is_personal
from tests.foreign.jar import KAFKA, chain_of, interpreter_of, outcomes, ran

PLAIN, MARKED = b'{"id":1,"name":"ada"}', b'{"id":2,"name":"bob","marked":true,"secret":"s-4711"}'
IS_MARKED = {"predicate": {"name": "is", "type": "acme.IsMarked"}}


def values(results):
    return [None if value is None else json.loads(value) for _, _, value, _ in results]


def problem(result):
    assert result[0] is not None and result[0].status == FAILED
    return result[0].problem


def changes(result):
    return [tuple(json.loads(line)) for line in result[3].changes.split("\n") if line]


def test_a_class_changes_records(jar):
    (result,) = ran(chain_of(jar, ("Upper", {"option": "name"})), [PLAIN])
    assert values([result]) == [{"id": 1, "name": "ADA"}]
    assert changes(result) == [(0, "changed", "value", "name")]
    assert result[3].touched == 1


def test_an_exception_fails_its_record_and_no_message_quotes_it(jar):
    plain, marked = ran(chain_of(jar, "Throws"), [PLAIN, MARKED])
    assert plain[0] is None and plain[2] == PLAIN
    assert problem(marked).code == "SMT490" and problem(marked).connect_class == "java.lang.IllegalStateException"
    assert "4711" not in str(problem(marked))
    assert problem(marked).place == "transforms.s0 (Throws)"


def test_a_missing_class_is_named(jar):
    (marked,) = ran(chain_of(jar, "Missing"), [MARKED])
    assert "java.lang.NoClassDefFoundError: acme/Nowhere" in problem(marked).statement


def test_null_is_dropped(jar):
    plain, marked = ran(chain_of(jar, "Same", "Drops", "Throws"), [PLAIN, MARKED])
    assert plain[0] is None and marked[0].status == DROPPED_STATUS and marked[0].stage == 1


def test_a_record_that_is_changed_in_place_is_seen(jar):
    (marked,) = ran(chain_of(jar, "Mutates"), [MARKED])
    assert values([marked]) == [{"id": 2, "name": "bob", "marked": True, "mutated": True}]
    assert changes(marked) == [(0, "added", "value", "mutated"), (0, "dropped", "value", "secret")]


def test_a_class_that_returns_its_record_changes_no_byte(jar):
    odd = b'{"a" : 1.50,  "b":[1e2 ]}'
    (result,) = ran(chain_of(jar, "Same"), [odd])
    assert result[2] == odd and not result[3].changes and not result[3].touched


def test_state_lasts_from_record_to_record(jar):
    assert [v["number"] for v in values(ran(chain_of(jar, "Counts"), [PLAIN] * 3))] == [1, 2, 3]


def test_what_a_class_prints_goes_nowhere_and_it_reads_nothing(jar, capfd):
    assert values(ran(chain_of(jar, "Prints"), [PLAIN] * 2)) == [{"id": 1, "name": "ada", "read": -1}] * 2
    assert "printed" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("how", ["exit", "halt"])
def test_a_class_that_ends_its_process_fails_its_record_alone(jar, how):
    results = ran(chain_of(jar, ("Exits", {"option": how})), [PLAIN, MARKED, PLAIN])
    assert [r[0] is None for r in results] == [True, False, True]
    assert problem(results[1]).code == "SMT492"


def test_a_class_that_never_returns_fails_its_record_alone(jar):
    began = time.monotonic()
    results = ran(chain_of(jar, "Hangs", stage_timeout_ms=500), [PLAIN, MARKED, PLAIN])
    assert [r[0] is None for r in results] == [True, False, True]
    assert problem(results[1]).code == "SMT491" and time.monotonic() - began < 20


DEATHS = {
    "a stage": (HostDiedError("exit", 0, 3), 3, "SMT492"),
    "no stage": (HostDiedError("timeout", 0), 2, "SMT491"),
    "no record": (HostDiedError(), 2, "SMT492"),
}


@pytest.mark.parametrize(("died", "stage", "code"), DEATHS.values(), ids=DEATHS)
def test_a_record_at_which_the_process_ends_fails_at_a_stage_of_its_segment(monkeypatch, died, stage, code):
    """The segment begins at stage 2; the process that ends may not know how far it came."""
    segment = ForeignSegment([[2], [3]], {}, Classes(()), ForeignSettings())
    monkeypatch.setattr(segment, "_answers", Mock(side_effect=died))
    (loss,) = segment.run([Record("t")]).values()
    assert (loss.stage, loss.problem.code) == (stage, code)


def test_each_chain_of_a_process_has_its_own_limit(jar):
    """The chains share a host, and the chain with the longer limit opens last."""
    hangs = interpreter_of(chain_of(jar, "Hangs", stage_timeout_ms=500))
    with closing(hangs), closing(interpreter_of(chain_of(jar, "Same", stage_timeout_ms=60_000))) as patient:
        for interpreter in (hangs, patient):
            assert outcomes(interpreter, [PLAIN])[0][0] is None
        began = time.monotonic()
        (result,) = outcomes(hangs, [MARKED])
    assert problem(result).code == "SMT491" and time.monotonic() - began < 20


@pytest.mark.long
def test_the_limit_of_a_record_does_not_end_stages_that_open_slowly(jar):
    """Java may take longer to load classes than a stage may take for a record, above all on a busy machine."""
    assert ran(chain_of(jar, "Same"), [PLAIN])[0][0] is None  # the host runs, so that only its stages are slow
    (result,) = ran(chain_of(jar, "Slow", stage_timeout_ms=500), [PLAIN])
    assert result[0] is None and result[2] == PLAIN


def test_topic_partition_timestamp_and_headers(jar):
    (result,) = ran(chain_of(jar, "Moves"), [PLAIN], headers=[("old", b"1"), ("kept", b"\xff")])
    record = result[3]
    assert (record.topic, record.target_partition, record.timestamp) == ("moved", 3, 1000)
    assert [(h.key, h.value, h.from_stage) for h in record.headers][1] == ("new", 42, True)
    assert record.headers[0].raw == b"\xff" and not record.headers[0].from_stage
    assert {(action, side, path) for _, action, side, path in changes(result)} == {
        ("routed", "topic", "topic"),
        ("changed", "record", "partition"),
        ("changed", "record", "timestamp"),
        ("dropped", "headers", "old"),
        ("added", "headers", "new"),
    }


def test_a_class_gives_schemas(jar):
    (result,) = ran(chain_of(jar, "Schemas"), [PLAIN])
    schema = result[3].value_schema
    assert (schema.name, schema.version, schema.parameters) == ("acme.Value", 2, (("p", "q"),))
    assert [(name, child.label) for name, child in schema.fields] == [
        ("id", "int32"),
        ("at", "Timestamp"),
        ("price", "Decimal(2)"),
        ("tags", "array<string>?"),
        ("counts", "map<int16,float32?>"),
        ("level", "int8"),
    ]
    assert schema.by_name["level"].default == 7
    assert str(result[3].value["price"]) == "12.50" and result[3].value["counts"] == {3: 0.5}
    assert (result[3].key == "key" and result[1] == b'"key"') or result[1] == b"key"


def test_retriable_exceptions_are_tried_again(jar):
    chain = chain_of(jar, "Retries", errors_retry_timeout=5000, errors_retry_delay_max_ms=10)
    assert [r[0] for r in ran(chain, [MARKED, MARKED])] == [None, None]
    assert problem(ran(chain_of(jar, "Retries"), [MARKED])[0]).connect_class.endswith("RetriableException")


def test_a_value_that_connect_does_not_have_fails_its_record(jar):
    (result,) = ran(chain_of(jar, "Odd"), [PLAIN])
    assert problem(result).connect_class == "org.apache.kafka.connect.errors.DataException"


def test_values_without_a_schema_keep_their_types(jar):
    (result,) = ran(chain_of(jar, "Boxes", "Same"), [PLAIN])
    kinds = {name: type(value).__name__ for name, value in result[3].value.items()}
    assert kinds["int8"] == "JavaByte" and kinds["int16"] == "JavaShort" and kinds["int32"] == "JavaInteger"
    assert kinds["nan"] == "JavaDouble"  # which JSON writes as a text, as Connect does
    assert kinds["float"] == "JavaFloat" and kinds["decimal"] == "Decimal" and kinds["date"] == "JavaDate"
    mask = ("MaskField$Value", {"fields": ["name"]})  # between two segments: what it leaves alone travels back as it is
    again = ran(chain_of(jar, "Boxes", mask, "Mutates"), [PLAIN])
    expected = {**result[3].value, "name": "", "mutated": True}
    assert str(sorted(again[0][3].value.items())) == str(sorted(expected.items()))
    kinds["mutated"] = "bool"
    assert {name: type(value).__name__ for name, value in again[0][3].value.items()} == kinds


def test_predicates_of_jars_of_kafka_and_of_ours(jar):
    upper = ("Upper", {"option": "name", **IS_MARKED})
    assert [v["name"] for v in values(ran(chain_of(jar, upper), [PLAIN, MARKED]))] == ["ada", "BOB"]
    negated = ("Upper", {"option": "name", **IS_MARKED, "negate": True})
    assert [v["name"] for v in values(ran(chain_of(jar, negated), [PLAIN, MARKED]))] == ["ADA", "bob"]
    of_kafka = {"predicate": {"name": "t", "type": "TopicNameMatches", "options": {"pattern": "other"}}}
    assert values(ran(chain_of(jar, ("Upper", {"option": "name", **of_kafka})), [PLAIN])) == [json.loads(PLAIN)]
    ours = ("MaskField$Value", {"fields": ["name"], **IS_MARKED})
    assert [v["name"] for v in values(ran(chain_of(jar, ours), [PLAIN, MARKED]))] == ["ada", ""]


def test_stages_of_ours_and_theirs_mix(jar):
    chain = chain_of(
        jar,
        ("InsertField$Value", {"static.field": "one", "static.value": "x"}),
        ("Upper", {"option": "one"}),
        "Same",
        ("MaskField$Value", {"fields": ["name"]}),
        ("Upper", {"option": "id"}),
    )
    (result,) = ran(chain, [PLAIN])
    assert values([result]) == [{"id": "1", "name": "", "one": "X"}]
    assert changes(result) == [(1, "changed", "value", "one"), (4, "cast", "value", "id")]
    assert result[3].touched == 0b11011


def test_stages_are_closed_with_their_task(jar, tmp_path):
    ran(chain_of(jar, ("Closes", {"option": str(tmp_path)})), [PLAIN])
    assert sorted(path.name.split("-")[0] for path in tmp_path.iterdir()).count("closed") == 1


def test_options_are_checked_by_the_class_all_at_once(jar):
    chain = chain_of(jar, ("Strict", {"number": 12, "secret": "a b"}), ("Strict", {"needed": "refused"}), "Base")
    with pytest.raises(ConfigError) as caught:
        check_options(chain)
    results = [(p.code, p.place) for p in caught.value.problems]
    assert results == [
        ("SMT012", "transforms.s0 (Strict)"),
        ("SMT013", "transforms.s0 (Strict) number"),
        ("SMT013", "transforms.s0 (Strict) secret"),
        ("SMT014", "transforms.s1 (Strict)"),
        ("SMT028", "transforms.s2 (Base)"),
    ]
    assert "a b" not in str(caught.value)
    (warning,) = check_options(chain_of(jar, ("Upper", {"optoin": "x"})))
    assert warning.code == "SMT011" and "option" in warning.hint


def test_a_class_that_is_nowhere_is_told_with_the_way(jar, tmp_path):
    with pytest.raises(ConfigError, match="smt_jars"):
        chain_of_nothing = {"stages": [{"type": "acme.Upper"}]}
        from dagster_smt.chain import parse_chain

        parse_chain(chain_of_nothing)
    with pytest.raises(ConfigError, match="none of the jars"):
        chain_of(jar, "Nowhere")
    with pytest.raises(ConfigError, match="SMT027"):
        chain_of(tmp_path / "none.jar", "Upper")


def test_our_class_stays_ours_unless_the_chain_says_connect(jar):
    stages = [("MaskField$Value", {"fields": ["name"]})]
    assert not chain_of(jar, *stages).has_foreign
    original = chain_of(jar, *stages, engine="connect")
    assert original.has_foreign and original.stages[0].connect_class == f"{KAFKA}MaskField$Value"
    assert original.hash != chain_of(jar, *stages).hash
    assert values(ran(original, [PLAIN])) == [{"id": 1, "name": ""}]


def test_a_stage_of_ours_with_a_schema_behind_a_predicate_of_kafka():
    """The host tests the predicate, so the plan of the stage has none."""
    stage = {"alias": "m", "type": "MaskField$Value", "options": {"fields": ["name"]}}
    predicate = {"name": "t", "type": "TopicNameMatches", "options": {"pattern": "orders"}}
    ours = parse_chain([stage | {"predicate": predicate}])
    of_kafka = parse_chain({**ours.properties, "engine": "connect"})
    mixed = replace(of_kafka, stages=(replace(of_kafka.stages[0], transform=ours.stages[0].transform, side="value"),))
    schema = {"type": "struct", "fields": [{"field": "name", "type": "string"}]}
    data = json.dumps({"schema": schema, "payload": {"name": "Ada"}}).encode()
    ((lost, _, value, _),) = ran(mixed, [data], value="envelope")
    assert lost is None and json.loads(value)["payload"] == {"name": ""}


NAMES_THAT_ARE_DATA = [
    "ada@example.org",
    "+49 170 1234567",
    "4111 1111 1111 1111",
    "4111111111111111",
    "192.168.0.17",
    "fe80::1",
    "DE89 3704 0044 0532 0130 00",
    "GB82WEST12345698765432",
    "123-45-6789",
    "12345678Z",
    "X1234567L",
    "RSSMRA85T10A562S",
]
PLAIN_NAMES = ["id", "card_2", "iso8601", "x-y.z", "Größe", "a b", "v1.2"]


@pytest.mark.parametrize("name", NAMES_THAT_ARE_DATA)
def test_no_report_shows_a_name_that_is_data(jar, name):
    """Flatten drops the object and adds a field whose name contains the name; a header can have such a name, too."""
    assert is_personal(name), "the pattern of the product finds it"
    (result,) = ran(chain_of(jar, "Flatten$Value", engine="connect"), [json.dumps({"card": {name: 1}}).encode()])
    assert values([result]) == [{f"card.{name}": 1}]
    assert changes(result) == [(0, "added", "value", "[*]"), (0, "dropped", "value", "card")]


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_reports_show_the_names_of_fields(jar, name):
    (result,) = ran(chain_of(jar, "Flatten$Value", engine="connect"), [json.dumps({"card": {name: 1}}).encode()])
    assert changes(result) == [(0, "added", "value", f"card.{name}"), (0, "dropped", "value", "card")]


def test_values_that_a_class_masks_are_searched_for(jar):
    """The check ``masked_values`` treats a class whose name says so as a mask."""
    chain = chain_of(jar, ("MaskField$Value", {"fields": ["name"]}), engine="connect")
    values = {"name": "Ada Lovelace", "other": "call Ada Lovelace", "id": 1}
    survivors = residue(chain, [Sample("t", value=json.dumps(values).encode())], Format("string"), Format("json"))
    assert survivors == {("value.name", "value.other"): 1}
