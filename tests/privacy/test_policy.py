"""Policies: what a tag means for a field, which stages follow, and what a policy refuses."""

import json
import pickle

import pytest
import yaml

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError
from dagster_smt.interpret.preview import Sample, preview
from dagster_smt.jvm.program import kept_out
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.applied_policy import Subject, apply_policy, undecided, undecided_headers
from dagster_smt.privacy.field_paths import EVERY, covers, path_steps, schema_paths, text_of
from dagster_smt.privacy.policy import policy_of, read_policy
from dagster_smt.privacy.policy_stages import PolicyStage
from dagster_smt.tables.ddl import parse_ddl
from tests.jvm.harness import agree, batch_of

TAGS = """
topics:
  orders:
    value:
      customer.email: [PII.email]
      id: []
      items[*].note: [PII.text]
      iban: [PII.bank]
      old: [legacy]
    key: []
    headers: {user: [PII.name], trace: []}
  returns-.*:
    value: {id: [], mail: [PII.email]}
    key: []
"""
RULES = {"PII.bank": "drop", "PII.*": "mask"}
NOTHING = {"transforms": ""}
ORDER = (
    '{"id":1,"customer":{"email":"a@x.example","phone":"1"},"items":[{"note":"n","sku":2}],"iban":"DE","new":7,"old":1}'
)
STRINGS = Format("string"), Format()


@pytest.fixture
def applied(tmp_path):
    """Makes a policy on a table; ``topics`` empty: a pattern chooses them."""
    (tmp_path / "tags.yaml").write_text(TAGS, encoding="utf-8")

    def make(topics=("orders",), tags=("tags.yaml",), value=None, declared=None, **policy):
        subject = Subject(tuple(topics), STRINGS[0], value or STRINGS[1], declared)
        return apply_policy(policy_of({"rules": RULES, "tags": list(tags), **policy}, tmp_path), subject)

    return make


def out(chain, *values, topic="orders", headers=()):
    samples = [
        Sample(topic, 0, n, 0, b"k", None if value is None else value.encode(), headers)
        for n, value in enumerate(values)
    ]
    ends = [_end(steps) for _, steps in preview(chain, samples, *STRINGS)]
    return [(end.record.value, end.record.headers) if end.record else end.note for end in ends]


def _end(steps):
    """The last step that says what became of the record: a stage that was skipped says nothing."""
    return [step for step in steps if not step.note.startswith("predicate")][-1]


def values(chain, *texts, **topic):
    return [end[0] if isinstance(end, tuple) else end for end in out(chain, *texts, **topic)]


def test_tags_decide_and_what_nobody_decided_is_held_back(applied):
    policy = applied()
    actions = {(d.part, d.path): d.action for d in policy.decisions}
    assert actions == {
        ("value", "customer.email"): "mask",
        ("value", "id"): "keep",
        ("value", "items[*].note"): "mask",
        ("value", "iban"): "drop",
        ("value", "old"): "hold back",
        ("key", ""): "keep",
        ("headers", "user"): "mask",
        ("headers", "trace"): "keep",
    }
    chain = policy.on(parse_chain(NOTHING))
    (result,) = out(chain, ORDER, headers=(("user", b"Ada"), ("trace", b"1")))
    assert result == ('{"id":1,"customer":{"email":""},"items":[{"note":""}]}', (("trace", "1"),))
    assert kept_out(chain, "string") is None, "the JVM lane runs the stages"


ALL_HEADERS = (("user", b"Ada"), ("trace", b"1"), ("session", b"4711"), ("trace", b"2"))
DECISIONS = {
    "those with an entry": ({"user": ["PII.name"], "trace": []}, "hold back", ["trace", "trace"]),
    "none": ({}, "hold back", []),
    "all others": ({"user": ["PII.name"], "*": []}, "hold back", ["trace", "session", "trace"]),
    "a tag without a rule": ({"user": ["unknown"], "*": []}, "hold back", ["trace", "session", "trace"]),
    "all others have a tag": ({"trace": [], "*": ["PII.name"]}, "keep", ["trace", "trace"]),
    "untagged ones": ({"user": ["PII.name"]}, "keep", ["trace", "session", "trace"]),
    "all": ({}, "keep", ["user", "trace", "session", "trace"]),
}


@pytest.mark.parametrize(("headers", "untagged", "names"), DECISIONS.values(), ids=DECISIONS)
def test_headers_that_stay(tmp_path, headers, untagged, names):
    tags = {"topics": {"orders": {"value": {"id": []}, "key": [], "headers": headers}}}
    (tmp_path / "tags.yaml").write_text(yaml.safe_dump(tags), encoding="utf-8")
    policy = policy_of({"rules": RULES, "tags": ["tags.yaml"], "untagged": untagged}, tmp_path)
    applied = apply_policy(policy, Subject(("orders",), *STRINGS))
    chain = applied.on(parse_chain(NOTHING))
    (result,) = out(chain, ORDER, headers=ALL_HEADERS)
    assert [name for name, _ in result[1]] == names
    lane = [[{"key": key, "value": value} for key, value in ALL_HEADERS], None, [], [{"key": "a", "value": None}]]
    assert agree(chain, batch_of([ORDER.encode()] * 4, ("orders",), headers=lane)) == []


def test_headers_that_nobody_decided_about_have_names(applied):
    stages, names = applied().stages, ["user", "trace", "session", "session"]
    assert undecided_headers(stages, "orders", names) == ["session"]
    assert undecided_headers(applied(untagged="keep").stages, "orders", names) == []
    others = applied(topics=()).stages
    assert undecided_headers(others, "strangers", names) == ["user", "trace", "session"]


def test_untagged_fields_can_be_kept_and_tags_without_a_rule_are_untagged(applied):
    chain = applied(untagged="keep").on(parse_chain(NOTHING))
    (result,) = values(chain, ORDER)
    assert result == ('{"id":1,"customer":{"email":"","phone":"1"},"items":[{"note":"","sku":2}],"new":7,"old":1}')


@pytest.mark.parametrize(
    "value",
    [
        '{"customer":"SECRET"}',
        '{"customer":["SECRET"]}',
        '{"customer":[{"email":"SECRET"}]}',
        '{"customer":{"email":{"a":"SECRET"}}}',
        '{"customer":{"email":["SECRET"]}}',
        '{"customer":{"email":"SECRET","email":"SECRET"}}',
        '{"customer":{"email":"SECRET"},"customer":{"email":"SECRET"}}',
        '{"customer.email":"SECRET"}',
        '{"Customer":{"email":"SECRET"}}',
        '{"customer":{"\\u0065mail":"SECRET","mail":"SECRET"}}',
        '{"items":{"note":"SECRET"}}',
        '{"iban":{"x":"SECRET"}}',
        '["SECRET"]',
        '"SECRET"',
        '{"id":1,"secret_":"SECRET"',
    ],
)
def test_no_odd_shape_carries_a_value_past_the_policy(applied, value):
    (result,) = values(applied().on(parse_chain(NOTHING)), value)
    assert "SECRET" not in result


def test_a_chain_cannot_carry_a_value_past_the_policy(applied):
    copying = [
        {
            "alias": "copy",
            "type": "HeaderFrom$Value",
            "options": {"fields": "customer", "headers": "c", "operation": "copy"},
        },
        {"alias": "flat", "type": "Flatten$Value"},
        {"alias": "rename", "type": "ReplaceField$Value", "options": {"renames": "customer.email:plain"}},
        {"alias": "key", "type": "ValueToKey", "options": {"fields": "plain"}},
    ]
    chain = applied().on(parse_chain(copying))
    samples = [Sample("orders", 0, 0, 0, b"k", ORDER.encode())]
    ((_, steps),) = preview(chain, samples, *STRINGS)
    assert "a@x.example" not in repr(steps[-1])
    assert steps[-1].record.key == '{"plain":""}'


ODD_RECORDS = {
    "half a character": b'{"id": 1, "\\ud800": 1}',
    "half a character inside": b'{"customer": {"\\udfff": 1}}',
    "brackets": b"[" * 20_000,
    "objects": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "no text": b"\xff\xfe",
    "a control character": b'{"\\u001b[2J": 1}',
}


@pytest.mark.parametrize("record", ODD_RECORDS)
def test_one_odd_record_does_not_hide_which_fields_are_held_back(applied, record):
    import pyarrow as pa

    from dagster_smt.spark.field_names import _HeldBack

    rows = [
        {"topic": "orders", "key": None, "value": value, "headers": []}
        for value in (ODD_RECORDS[record], b'{"new": 1}')
    ]
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    schema = pa.schema([("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary()), ("headers", header)])
    (counts,) = _HeldBack(applied().stages)([pa.RecordBatch.from_pylist(rows, schema=schema)])
    paths = counts.column("path").to_pylist()
    assert "new" in paths and all(path.isprintable() for path in paths)


def test_nulls_and_missing_fields_stay_as_they_are(applied):
    chain = applied().on(parse_chain(NOTHING))
    assert values(chain, None, "{}", '{"customer":null,"iban":null,"items":[]}') == [
        None,
        "{}",
        "{}",  # as with ReplaceField: an empty array has no field to keep
    ]


def test_a_pattern_of_topics_has_the_first_entry_that_matches_and_holds_other_topics_back(applied):
    policy = applied(topics=())
    chain = policy.on(parse_chain(NOTHING))
    mail = '{"id":1,"mail":"SECRET","b":2}'
    assert values(chain, mail, topic="returns-eu") == ['{"id":1,"mail":""}']
    assert values(chain, mail, topic="other") == ["{}"]
    assert values(chain, mail, topic="orders") == ['{"id":1}']
    assert undecided(policy.stages, "returns-eu", "value", [("id",), ("b",), ("c", EVERY)]) == ["b", "c[*]"]
    assert undecided(policy.stages, "other", "value", [("id",)]) == ["id"]
    assert undecided(policy.stages, "orders", "value", [("iban",), ("x",)]) == ["x"], "a drop is a decision"
    assert kept_out(chain, "string") is None


def test_a_sink_with_keys_gets_no_record_of_a_topic_that_nobody_decided_about(tmp_path):
    (tmp_path / "tags.yaml").write_text(TAGS, encoding="utf-8")
    policy = policy_of({"rules": RULES, "tags": ["tags.yaml"]}, tmp_path)
    chain = apply_policy(policy, Subject((), *STRINGS, writes_keys=True)).on(parse_chain(NOTHING))
    assert values(chain, '{"id":1}', topic="other") == ["dropped"]
    assert values(chain, '{"id":1}', topic="returns-eu") == ['{"id":1}']
    keeping = policy_of({"rules": RULES, "tags": ["tags.yaml"], "untagged": "keep"}, tmp_path)
    chain = apply_policy(keeping, Subject((), *STRINGS, writes_keys=True)).on(parse_chain(NOTHING))
    assert values(chain, '{"id":1}', topic="other") == ['{"id":1}']


def test_topics_with_the_same_tags_share_stages(applied):
    policy = applied(topics=("returns-eu", "returns-us"))
    assert {stage.predicate for stage in policy.stages} == {None}
    several = applied(topics=("returns-eu", "orders"))
    assert [group.topics for group in several.groups] == ["returns\\-eu", "orders"]
    mail = '{"id":1,"mail":"SECRET","b":2}'
    assert values(several.on(parse_chain(NOTHING)), mail, topic="returns-eu") == ['{"id":1,"mail":""}']


def test_declared_fields_without_a_tag_are_listed_and_a_decision_covers_what_is_in_a_struct(applied, tmp_path):
    declared = parse_ddl("id BIGINT, customer STRUCT<email STRING, phone STRING>, extra STRUCT<a INT, b INT>")
    (tmp_path / "more.yaml").write_text("topics: {orders: {value: {extra: []}}}", encoding="utf-8")
    policy = applied(tags=("tags.yaml", "more.yaml"), value=Format("json_schema", declared), declared=declared)
    reasons = {d.path: (d.action, d.reason) for d in policy.decisions if d.part == "value"}
    assert reasons["customer.phone"] == ("hold back", "no tag")
    assert reasons["extra"] == ("keep", "listed without a tag")
    assert not any(path.startswith("extra.") for path in reasons)


@pytest.mark.parametrize(
    ("pattern", "path", "means"),
    [
        ("a.b", ("a", "b"), True),
        ("a.b", ("a", "b", "c"), True),
        ("a.b", ("a",), False),
        ("a.b", ("a", "c"), False),
        ("items[*].sku", ("items", EVERY, "sku"), True),
        ("items[0].sku", ("items", EVERY, "sku"), True),
        ("**.mail", ("x", EVERY, "mail"), True),
        ("**.mail", ("mail",), True),
        ("**.mail", ("email",), False),
        ("/mail/", ("email",), True),
        ("a.*", ("a", "b", "c"), True),
        ("`a.b`", ("a.b",), True),
        ("type(string)", ("a",), True),  # without a schema, a field may have any type
    ],
)
def test_a_path_of_a_policy_means_fields(pattern, path, means):
    assert covers(path_steps(pattern, ""), path) is means


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("**.type(string)", ["customer.email", "customer.phones[*]"]),
        ("type(int64)", ["id"]),
        ("type(struct).email", ["customer.email"]),
        ("customer.type(array)", ["customer.phones[*]"]),
        ("**.logical(Timestamp)", ["seen"]),
        ("**.type(string).x", []),
        ("**.id", ["id"]),
    ],
)
def test_a_path_that_selects_by_type_decides_only_about_fields_of_the_type(tmp_path, pattern, covered):
    declared = parse_ddl("id BIGINT, seen TIMESTAMP, customer STRUCT<email STRING, phones ARRAY<STRING>>")
    (tmp_path / "tags.yaml").write_text(f"topics: {{orders: {{value: {{'{pattern}': []}}}}}}", encoding="utf-8")
    subject = Subject(("orders",), *STRINGS, declared=declared)
    policy = apply_policy(policy_of({"rules": RULES, "tags": ["tags.yaml"]}, tmp_path), subject)
    paths = list(schema_paths(declared))
    others = [text_of(path) for path in paths if text_of(path) not in covered]
    assert len(covered) + len(others) == len(paths) == 4
    assert [decision.path for decision in policy.decisions if decision.action == "hold back"] == others
    assert undecided(policy.stages, "orders", "value", paths, declared) == others


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        ({"rules": {"PII": "msak"}, "tags": []}, "there is no action 'msak'"),
        ({"rules": {}, "tags": []}, "a policy needs rules"),
        ({"rules": RULES}, "a policy needs a source of tags"),
        ({"rules": RULES, "tags": [{"catalog": "x"}]}, "a source is one of"),
        ({"rules": RULES, "tags": [], "untaged": "keep"}, "unknown key 'untaged'"),
        ({"rules": RULES, "tags": [], "untagged": "drop"}, "'drop' is not one of: hold back, keep"),
        (
            {"rules": RULES, "tags": [], "actions": {"keep": {"type": "MaskField"}}},
            "'keep' is an action of every policy",
        ),
        ({"rules": RULES, "tags": [], "actions": {"x": {}}}, "the type is missing"),
        ({"rules": RULES, "tags": [], "actions": {"x": {"tpye": "MaskField"}}}, "unknown key 'tpye'"),
    ],
)
def test_a_wrong_policy_says_what_is_wrong(policy, problem):
    with pytest.raises(ConfigError, match="SMT764") as error:
        policy_of(policy)
    assert problem in str(error.value)


def test_all_problems_of_a_policy_come_at_once():
    with pytest.raises(ConfigError) as error:
        policy_of({"rules": {"a": "b"}, "untagged": "no"})
    assert len(error.value.problems) == 3


@pytest.mark.parametrize(
    ("tags", "policy", "problem"),
    [
        ("topics: {orders: {value: {}}}", {}, "SMT768 orders: no source of tags lists a field"),
        (
            "topics: {orders: {value: {id: []}, key: [PII.email]}}",
            {},
            "SMT765 policy  key: a whole key can only be kept",
        ),
        (
            "topics: {'a(': {value: {id: []}}}",
            {},
            "SMT762 tags.yaml a(: the name of the topic is not a regular expression",
        ),
        ("topics: {orders: {valeu: {id: []}}}", {}, "SMT762 tags.yaml orders: a topic has no part 'valeu'"),
        ("topics: {orders: {value: {id: 7}}}", {}, "SMT762 tags.yaml orders value id: tags are a list of texts"),
        ("topics: {orders: {value: {'a[': []}}}", {}, "SMT760 tags.yaml orders value: 'a[' is not a path"),
        ("orders: {}", {}, "SMT762 tags.yaml: the file is not a mapping with the single key 'topics'"),
        ("a: [", {}, "SMT761 tags.yaml: it is not YAML"),
    ],
)
def test_wrong_tags_say_what_is_wrong(applied, tmp_path, tags, policy, problem):
    (tmp_path / "tags.yaml").write_text(tags, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        applied(**policy)
    assert problem in str(error.value)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"SMT761 policy\.yaml: no such file"):
        read_policy(tmp_path / "policy.yaml")


def test_actions_are_transforms_with_their_fields(applied):
    actions = {
        "stars": {"type": "MaskField$Value", "options": {"replacement": "***"}},
        "gone": {"type": "ReplaceField", "fields": "exclude"},
    }
    policy = applied(actions=actions, rules={"PII.email": "stars", "PII.*": "gone"})
    chain = policy.on(parse_chain(NOTHING))
    assert values(chain, ORDER, None) == ['{"id":1,"customer":{"email":"***"},"items":[{}]}', None]
    masked = applied(actions={"mask": {"options": {"replacement": "###"}}})
    assert '"email":"###"' in values(masked.on(parse_chain(NOTHING)), ORDER)[0]


STARS = {"actions": {"stars": {"type": "MaskField", "options": {"replacement": "***"}}}, "rules": {"PII.*": "stars"}}


@pytest.mark.parametrize("topics", [("orders",), ("orders", "returns-eu"), ()])
def test_a_tombstone_passes_an_action_that_would_reject_it_in_a_chain(applied, topics):
    chain = applied(topics=topics, untagged="keep", **STARS).on(parse_chain(NOTHING))
    chain = pickle.loads(pickle.dumps(chain))  # as an executor gets it
    mail = '{"id":1,"mail":"SECRET"}'
    assert values(chain, None, mail, topic="returns-eu" if len(topics) != 1 else "orders")[0] is None
    if len(topics) != 1:
        assert values(chain, mail, topic="returns-eu") == ['{"id":1,"mail":"***"}']
    assert kept_out(chain, "string") is None
    assert agree(chain, batch_of([None, ORDER.encode(), None, mail.encode()], ("orders", "returns-eu"))) == []


@pytest.mark.parametrize("topics", [("orders",), ()])
def test_the_key_of_a_tombstone_is_masked_and_a_null_key_passes(tmp_path, topics):
    (tmp_path / "tags.yaml").write_text("topics: {orders: {key: {mail: [PII.email]}}}", encoding="utf-8")
    policy = policy_of({**STARS, "untagged": "keep", "tags": ["tags.yaml"]}, tmp_path)
    chain = apply_policy(policy, Subject(topics, Format(), Format(), writes_keys=True)).on(parse_chain(NOTHING))
    samples = []
    for number, (key, value) in enumerate([(b'{"mail":"SECRET"}', None), (None, b"{}"), (b'{"mail":"SECRET"}', b"{}")]):
        samples.append(Sample("orders", 0, number, 0, key, value, ()))
    records = []
    for _, steps in preview(chain, samples, Format(), Format()):
        record = _end(steps).record
        records.append((record.key, record.value))
    assert records == [('{"mail":"***"}', None), (None, "{}"), ('{"mail":"***"}', "{}")]
    assert agree(chain, batch_of([None, b"{}"] * 3, ("orders",), keys=(b'{"mail":"SECRET"}', None, None)), "json") == []


def test_pseudonyms_and_redacted_texts_by_tag(applied, monkeypatch):
    monkeypatch.setenv("PII_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    actions = {"pseudonymize": {"type": "Pseudonymize", "options": {"key.ring": "k1=${env:PII_KEY}"}}}
    rules = {"PII.email": "pseudonymize", "PII.text": "redact", "PII.*": "drop"}
    policy = applied(actions=actions, rules=rules)
    chain = pickle.loads(pickle.dumps(policy.on(parse_chain(NOTHING))))
    order = ORDER.replace('"note":"n"', '"note":"call a@x.example"')
    first, second = (json.loads(value) for value in values(chain, order, order))
    assert values(chain, None) == [None]
    assert first == second and len(first["customer"]["email"]) == 32
    assert first["items"] == [{"note": "call [email]"}]
    text = repr(chain) + repr(policy) + json.dumps(chain.properties) + repr(chain.to_stages())
    assert "MDEyMzQ1" not in text and "${env:PII_KEY}" in text


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ({"type": "MaskFeild"}, "SMT764 policy actions x: there is no transform 'MaskFeild'"),
        ({"type": "MaskField", "fields": "feilds"}, "SMT764 policy actions x: MaskField has no option 'feilds'"),
        ({"type": "MaskField", "options": {"replacment": "*"}}, "SMT765 policy x (MaskField): unknown option"),
    ],
)
def test_an_action_that_cannot_work_is_refused(applied, action, problem):
    with pytest.raises(ConfigError) as error:
        applied(actions={"x": action}, rules={"PII.*": "x"})
    assert problem in str(error.value)


def test_a_chain_cannot_take_the_names_of_the_policys_stages(applied):
    chain = parse_chain([{"alias": "policy_mask", "type": "MaskField$Value", "options": {"fields": "x"}}])
    with pytest.raises(ConfigError, match=r"SMT766 transforms\.policy_mask"):
        applied().on(chain)


def test_a_chain_cannot_take_the_names_of_the_policys_predicates(applied):
    predicate = {"name": "policy_topics", "type": "TopicNameMatches", "options": {"pattern": "x"}}
    chain = parse_chain([{"alias": "a", "type": "Filter", "predicate": predicate}])
    with pytest.raises(ConfigError, match=r"SMT766 predicates\.policy_topics"):
        applied(topics=()).on(chain)
    assert applied().on(chain).stages[-1] == chain.stages[0], "this policy has no predicate"


def test_the_stages_of_a_policy_are_never_twice_and_change_the_hash_of_a_chain(applied):
    policy, chain = applied(), parse_chain([{"alias": "x", "type": "Flatten$Value"}])
    once = policy.on(chain)
    assert policy.on(once).stages == once.stages
    assert once.hash != chain.hash and policy.on(once).hash == once.hash
    assert [isinstance(stage, PolicyStage) for stage in once.stages] == [True] * 6 + [False]


def test_dead_letters_and_keys_need_a_decision(tmp_path):
    (tmp_path / "tags.yaml").write_text("topics: {orders: {value: {id: []}}}", encoding="utf-8")
    source = {"rules": RULES, "tags": ["tags.yaml"]}
    letters, keys = (
        Subject(("orders",), *STRINGS, has_letters=True),
        Subject(("orders",), *STRINGS, writes_keys=True),
    )
    with pytest.raises(ConfigError, match="SMT768 policy dead_letters: dead letters hold original records"):
        apply_policy(policy_of(source, tmp_path), letters)
    with pytest.raises(ConfigError, match="SMT768 orders: the sink holds keys, and the policy has no decision"):
        apply_policy(policy_of(source, tmp_path), keys)
    assert apply_policy(policy_of({**source, "dead_letters": "keep"}, tmp_path), letters).stages
