"""Edges of column lineage: what happened to a value, by which stages; and the columns of tagged fields."""

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.after_foreign import plan_after
from dagster_smt.chain.forms import Form
from dagster_smt.lineage.edges import Edge, edges_of, edges_of_report
from dagster_smt.lineage.tagged import tagged_columns
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Window
from dagster_smt.privacy.applied_policy import Subject, apply_policy
from dagster_smt.privacy.policy import policy_of
from dagster_smt.tables.ddl import parse_ddl

VALUE = parse_ddl("id BIGINT, price DOUBLE, at STRUCT<city: STRING>, who STRING, tags ARRAY<STRING>, note STRING")
EXTENDED = {"field.syntax.version": "extended"}
SOME = {"name": "p", "type": "HasHeaderKey", "options": {"name": "x"}}
CHAIN = [
    {"alias": "names", "type": "ReplaceField$Value", "options": {"renames": ["id:number"], "exclude": ["note"]}},
    {"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["who"], "replacement": "*"}},
    {"alias": "some", "type": "MaskField$Value", "options": {"fields": ["tags[*]"], **EXTENDED}, "predicate": SOME},
    {"alias": "cast", "type": "Cast$Value", "options": {"spec": "price:string"}},
    {"alias": "flat", "type": "Flatten$Value", "options": {"delimiter": "_"}},
    {"alias": "kind", "type": "InsertField$Value", "options": {"static.field": "kind", "static.value": "order"}},
    {"alias": "again", "type": "ReplaceField$Value", "options": {"renames": ["who:person"]}},
]


def plan(chain, schema=VALUE):
    return plan_chain(chain, None, schema, topics=("orders",), typed=True)


def test_an_edge_says_what_stages_did():
    assert edges_of(plan(parse_chain(CHAIN))) == (
        Edge("number", "value.id", "identity"),
        Edge("price", "value.price", "transformation", ("cast",)),
        Edge("at_city", "value.at.city", "identity"),
        Edge("person", "value.who", "masking", ("hide",)),
        Edge("tags[]", "value.tags[]", "partly masked", ("some",)),
    )


def test_a_mask_under_a_predicate_is_no_mask_for_an_auditor():
    some = {"alias": "some", "type": "MaskField$Value", "options": {"fields": ["who"]}, "predicate": SOME}
    kinds = {edge.column: edge.kind for edge in edges_of(plan(parse_chain([some])))}
    assert kinds["who"] == "partly masked"
    always = {"alias": "all", "type": "MaskField$Value", "options": {"fields": ["who"]}}
    kinds = {edge.column: (edge.kind, edge.stages) for edge in edges_of(plan(parse_chain([some, always])))}
    assert kinds["who"][0] == "masking" and "all" in kinds["who"][1]


def test_a_token_is_a_mask_and_its_opening_is_none():
    ring = {"fields": ["who"], "key.ring": "k1=${env:EXAMPLE_KEY}"}
    for kind, expected in (("Tokenize", "masking"), ("Encrypt", "masking"), ("Detokenize", "opened")):
        stage = {"alias": "it", "type": f"{kind}$Value", "options": ring}
        assert {edge.column: edge.kind for edge in edges_of(plan(parse_chain([stage])))}["who"] == expected


OPENED = {
    "Encrypt, Decrypt": "opened",
    "Tokenize, Detokenize": "opened",
    "Decrypt, Pseudonymize": "masking",
    "Encrypt, Decrypt, MaskPart": "masking",
    "Encrypt, MaskPart, Decrypt": "masking",  # nobody opens a text that lost a part
    "Pseudonymize, Encrypt, Decrypt": "masking",
    "Encrypt, Decrypt, Encrypt": "masking",
    "Encrypt, Decrypt?": "partly masked",
    "Encrypt?, Decrypt": "opened",
    "Decrypt, MaskPart?": "partly masked",
    "Encrypt, Decrypt?, MaskPart": "masking",
    "Encrypt, Decrypt, Cast": "opened",
}


@pytest.mark.parametrize("names", OPENED)
def test_what_a_stage_opens_is_masked_no_more(names):
    """A question mark: the stage has a predicate."""
    stages = []
    for number, name in enumerate(names.split(", ")):
        kind, some = name.rstrip("?"), {"predicate": SOME} if name.endswith("?") else {}
        options = {"spec": "who:string"} if kind == "Cast" else {"fields": ["who"]}
        if kind not in ("Cast", "MaskPart"):
            options["key.ring"] = "k1=${env:EXAMPLE_KEY}"
        stages.append({"alias": f"s{number}", "type": f"{kind}$Value", "options": options, **some})
    planned = plan(parse_chain(stages))
    (edge,) = [edge for edge in edges_of(planned) if edge.column == "who"]
    assert edge.kind == OPENED[names]
    assert planned.masked == (frozenset({"who"}) if edge.kind == "masking" else frozenset())


@pytest.mark.parametrize("path", ["tags[*]", "at.city"])
def test_parts_of_a_value_that_a_stage_opens(path):
    options = {"fields": [path], "key.ring": "k1=${env:EXAMPLE_KEY}", **EXTENDED}
    stages = [{"alias": k.lower(), "type": f"{k}$Value", "options": options} for k in ("Encrypt", "Decrypt")]
    kinds = {edge.column: edge.kind for edge in edges_of(plan(parse_chain(stages)))}
    assert kinds[path.replace("[*]", "[]")] == "opened"
    assert plan(parse_chain(stages)).masked == frozenset()


def test_an_entry_of_a_map_that_a_stage_opens_counts_as_opened():
    options = {"fields": ["m.k"], "key.ring": "k1=${env:EXAMPLE_KEY}", **EXTENDED}
    stages = [{"alias": k.lower(), "type": f"{k}$Value", "options": options} for k in ("Encrypt", "Decrypt")]
    of_map = parse_ddl("m MAP<STRING, STRING>")
    assert edges_of(plan(parse_chain(stages[:1]), of_map))[0].kind == "partly masked"
    assert edges_of(plan(parse_chain(stages), of_map))[0].kind == "opened"


def test_schemas_of_records_leave_the_kind_open():
    report = RunReport("r", Window(), lineage={"a": ("value.x",), "b": ("value.y",)}, masked=frozenset({"b"}))
    chain = parse_chain(CHAIN[:2])
    assert edges_of_report(report, chain) == (Edge("a", "value.x", "unknown"), Edge("b", "value.y", "masking"))
    some = parse_chain(CHAIN[:3])
    assert edges_of_report(report, some)[1] == Edge("b", "value.y", "partly masked"), "a predicate may have decided"


def plan_of_jars(policy=None):
    """A plan of columns after a stage of a jar."""
    chain = parse_chain({"stages": CHAIN[1:2], "engine": "connect"})
    chain = chain if policy is None else policy.on(chain)
    return plan_after(chain, (VALUE,), (Form("orders", None, VALUE),), ("orders",))


def test_columns_after_a_stage_of_a_jar_have_an_unknown_origin():
    edges = edges_of(plan_of_jars())
    assert set(edges) == {Edge(edge.column, "value", "unknown", ("hide",)) for edge in edges}
    assert [edge.column for edge in edges] == ["id", "price", "at.city", "who", "tags", "note"]
    assert plan_of_jars().lineage["who"] == ("value",)


TAGS = "topics: {orders: {value: {id: [], who: [PII.name], at.city: [public], note: [PII], price: [num]}}}"


def applied(tmp_path, schema, tags_of=TAGS, **policy):
    (tmp_path / "tags.yaml").write_text(tags_of, encoding="utf-8")
    rules = {"PII.name": "mask", "PII": "drop", "public": "keep", "num": "keep"}
    form = Format("json_schema", schema) if schema is not None else Format()
    subject = Subject(("orders",), Format("string"), form, schema)
    return apply_policy(policy_of({"rules": rules, "tags": ["tags.yaml"], **policy}, tmp_path), subject)


def states(columns):
    return {one.field: (one.column, one.state, one.stages) for one in columns}


def test_tagged_columns_of_a_table_of_columns(tmp_path):
    policy = applied(tmp_path, VALUE)
    chain = policy.on(parse_chain(CHAIN[3:5]))
    columns = tagged_columns(policy, edges_of(plan(chain)), has_columns=True, chain=chain)
    assert states(columns) == {
        "who": ("who", "masked", ("policy_mask",)),
        "at.city": ("at_city", "unmasked", ()),
        "note": ("", "not in the table", ()),
        "price": ("price", "transformed", ("cast",)),
    }


def test_tagged_columns_after_a_stage_of_a_jar(tmp_path):
    """The class may have copied a field into any column, so no field is said to be gone."""
    policy = applied(tmp_path, VALUE)
    jars = plan_of_jars(policy)
    columns = tagged_columns(policy, edges_of(jars), has_columns=True, chain=jars.chain)
    assert states(columns) == {
        "who": ("", "masked", ("policy_mask", "hide")),
        "at.city": ("", "unknown", ("hide",)),
        "note": ("", "not in the table", ()),
        "price": ("", "unknown", ("hide",)),
    }


def test_tagged_columns_of_a_table_of_records(tmp_path):
    policy = applied(tmp_path, None)
    columns = tagged_columns(policy, (), has_columns=False, chain=policy.on(parse_chain(CHAIN[3:4])))
    assert states(columns) == {
        "who": ("value.who", "masked", ("policy_mask",)),
        "at.city": ("value.at.city", "unmasked", ()),
        "note": ("", "not in the table", ()),
        "price": ("value.price", "unmasked", ()),
    }


KEYS_AND_HEADERS = """
topics:
  orders:
    value: {id: []}
    key: {mail: [PII.name], city: [public], tax: [PII]}
    headers: {user: [PII.name], region: [public]}
"""
IN_RECORDS = {
    "key.mail": ("key.mail", "masked", ("policy_mask_key",)),
    "key.city": ("key.city", "unmasked", ()),
    "key.tax": ("", "not in the table", ()),
    "headers.user": ("", "not in the table", ()),
    "headers.region": ("headers.region", "unmasked", ()),
}
NOT_IN_COLUMNS = ("", "not in the table", ())


def test_tagged_fields_of_keys_and_tagged_headers(tmp_path):
    """A table of records has keys and headers; a table of columns has what its chain puts into the value."""
    policy = applied(tmp_path, None, tags_of=KEYS_AND_HEADERS)
    of_records = tagged_columns(policy, (), has_columns=False, chain=policy.on(parse_chain([])))
    assert states(of_records) == IN_RECORDS
    of_columns = tagged_columns(policy, (), has_columns=True, chain=policy.on(parse_chain([])))
    assert states(of_columns) == dict.fromkeys(IN_RECORDS, NOT_IN_COLUMNS)
    edges = (Edge("mail", "key.mail", "masking", ("policy_mask_key",)), Edge("town", "key.city", "identity"))
    both = states(tagged_columns(policy, edges, has_columns=True, chain=policy.on(parse_chain([]))))
    assert both["key.mail"] == ("mail", "masked", ("policy_mask_key",))
    assert both["key.city"] == ("town", "unmasked", ())
    assert both["key.tax"] == NOT_IN_COLUMNS


def test_a_tagged_whole_key(tmp_path):
    tags = "topics: {orders: {value: {id: []}, key: [PII.id]}}"
    policy = applied(tmp_path, None, tags_of=tags, rules={"PII.id": "keep"})
    columns = tagged_columns(policy, (), has_columns=False, chain=policy.on(parse_chain([])))
    assert states(columns) == {"key": ("key", "unmasked", ())}


@pytest.mark.parametrize("has_columns", [True, False])
def test_a_chain_that_opens_what_a_policy_sealed_is_no_mask(tmp_path, has_columns):
    """Whoever writes the definition may do so; an auditor sees it."""
    ring = {"key.ring": "k1=${env:EXAMPLE_KEY}"}
    actions = {"seal": {"type": "Encrypt", "options": ring}}
    rules = {"PII.name": "seal", "PII": "drop", "public": "keep", "num": "keep"}
    policy = applied(tmp_path, VALUE if has_columns else None, rules=rules, actions=actions)
    opening = {"alias": "open", "type": "Decrypt$Value", "options": {"fields": ["who"], **ring}}
    for own, expected in (([], "masked"), ([opening], "unmasked" if has_columns else "unknown")):
        chain = policy.on(parse_chain(own))
        edges = edges_of(plan(chain)) if has_columns else ()
        (who,) = [
            one for one in tagged_columns(policy, edges, has_columns=has_columns, chain=chain) if one.field == "who"
        ]
        assert (who.state, who.stages[-1]) == (expected, "open" if own else "policy_seal")
