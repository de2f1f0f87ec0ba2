"""ExtractTopic$Header: the topic from a header. The source is Confluent's documentation of the transform (docs)."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.interpret.interpreter import PASSED, Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.transforms.confluent.extract_topic_header import ExtractTopicHeader
from tests.transforms.helpers import Case, check, refusal

AT = "{} transforms.t (ExtractTopic$Header): {}"
OF = "{} transforms.t (ExtractTopic$Header) {}: {}"
FROM = {"shows": "topic", "input_part": "headers"}
H = {"field": "h"}
SKIP = {"skip.missing.or.null": "true"}
ONE = '[{"key":"h","value":"a"}]'
LOST = AT.format("SMT451", "the header 'h' is missing, null or empty, but the topic comes from there")
NO_TEXT = AT.format("SMT460", "the header 'h' is not a UTF-8 string")


def topic(title, options, before, after, **more):
    return Case(title, options, before, after, **FROM, **more)


CASES = (
    # docs
    topic("a header", H, ONE, "a", touches=("h",)),
    topic("a header, skipping", H | SKIP, ONE, "a", touches=("h",)),
    refusal("another header", H, '[{"key":"H","value":"a"}]', LOST, **FROM),
    refusal("no headers", H, "[]", LOST, **FROM),
    topic("another header, skipped", H | SKIP, '[{"key":"H","value":"a"}]', "orders", touches=()),
    topic("no headers, skipped", H | SKIP, "[]", "orders", touches=()),
    *(topic(f"the format {f!r}", H | {"field.format": f}, ONE, "a") for f in ("PLAIN", "")),
    # ConnectHeaders.lastWithName
    topic("the last one counts", H, '[{"key":"h","value":"a"},{"key":"h","value":"b"},{"key":"x","value":"c"}]', "b"),
    # ours: the bytes are the text
    topic("what looks like a number", H, '[{"key":"h","value":"007"}]', "007"),
    topic("quotes", H, '[{"key":"h","value":"\\"é\\""}]', '"é"'),
    refusal("an empty one", H, '[{"key":"h","value":""}]', LOST, **FROM),
    topic("an empty one, skipped", H | SKIP, '[{"key":"h","value":""}]', "orders", touches=()),
    # the configuration
    refusal("no name", {}, "[]", AT.format("SMT012", "the option 'field' is missing"), **FROM),
    refusal("an empty name", {"field": ""}, "[]", OF.format("SMT013", "field", "the text is empty"), **FROM),
    refusal("a path", H | {"field.format": "JSON_PATH"}, "[]",
            OF.format("SMT013", "field.format", "must be one of: PLAIN, "), **FROM),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_extract_topic_header(case):
    check(ExtractTopicHeader, case)


def run(options, headers, *before):
    """The topic, or the problem, of a record with headers, after other stages."""
    stages = [*before, {"alias": "t", "type": ExtractTopicHeader.connect_class, "options": options}]
    record = Record("orders", 0, 42, 0, "CreateTime", headers=headers)
    outcome = Interpreter(parse_chain(stages)).run(record)
    return record.topic if outcome.status == PASSED else str(outcome.problem).splitlines()[0]


def test_a_null_header_is_missing():
    null = [Header("h", raw=b"a", from_stage=False), Header("h", raw=None, from_stage=False)]
    assert (run(H, null), run(H | SKIP, null)) == (LOST, "orders")


@pytest.mark.parametrize("options", [H, H | SKIP])
def test_bytes_that_are_no_text_are_refused(options):
    assert run(options, [Header("h", raw=b"\xff", from_stage=False)]) == NO_TEXT


def test_a_header_that_a_stage_has_made_is_read_as_it_is_written():
    results = {"alias": "i", "type": "InsertHeader", "options": {"header": "h", "value.literal": "[1, 2.50]"}}
    assert run(H, (), results) == "[1.0,2.5]"
