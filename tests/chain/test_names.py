"""Names of classes and options that are not today's: former options are accepted, other vendors' classes are named."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.vendors import _CLOSE, _VENDORS
from dagster_smt.errors import ConfigError

KAFKA = "org.apache.kafka.connect.transforms."


def chain_of(type_, **options):
    options = {f"transforms.s.{key.replace('_', '.')}": value for key, value in options.items()}
    return {"transforms": "s", "transforms.s.type": type_, **options}


def hint_of(type_):
    with pytest.raises(ConfigError) as error:
        parse_chain(chain_of(type_))
    (problem,) = error.value.problems
    assert (problem.code, problem.statement) == ("SMT010", f"unknown transform class '{type_}'")
    return problem.hint


@pytest.mark.parametrize(
    ("type_", "options", "meant"),
    [
        ("ReplaceField$Value", {"blacklist": "a,b"}, {"exclude": ["a", "b"]}),
        ("ReplaceField$Value", {"whitelist": "a"}, {"include": ["a"]}),
        ("ReplaceField$Value", {"blacklist": "a", "exclude": "b"}, {"exclude": ["b"]}),
        (f"{KAFKA}ReplaceField$Key", {"whitelist": "a"}, {"include": ["a"]}),
    ],
)
def test_former_options_are_accepted_with_a_warning_that_has_todays_name(type_, options, meant):
    chain = parse_chain(chain_of(type_, **options))
    (stage,) = chain.stages
    assert stage.transform.configured() == meant
    assert stage.side == ("key" if "Key" in type_ else "value")
    texts = " ".join(f"{w.statement} {w.hint}" for w in chain.warnings)
    changed = [key for key in options if key not in meant]
    assert all(f"'{key}'" in texts and f"write {new}" in texts for key, new in zip(changed, meant, strict=False))
    assert [w.code for w in chain.warnings].count("SMT017") == len(changed)
    assert {w.code for w in chain.warnings} == {"SMT017"}


def test_of_a_former_and_todays_option_todays_counts_and_the_warning_says_so():
    (warning,) = parse_chain(chain_of("ReplaceField$Value", blacklist="a", exclude="b")).warnings
    assert "the chain also sets 'exclude', which wins" in warning.statement


def test_kafka_itself_knows_no_former_names():
    former = chain_of(f"{KAFKA}ReplaceField$Value", blacklist="a")
    chain = parse_chain(former, unknown_options="warn", as_kafka=True)
    assert chain.stages[0].transform.configured() == {}


@pytest.mark.parametrize("type_", ["MaskKey", f"{KAFKA}InsertInValue", "ExtractValueFromStruct"])
def test_names_of_kip_66_that_no_release_of_kafka_had_are_unknown(type_):
    for as_kafka in (False, True):
        with pytest.raises(ConfigError, match="SMT010"):
            parse_chain(chain_of(type_, fields="a"), as_kafka=as_kafka)


@pytest.mark.parametrize(
    ("type_", "vendor", "close"),
    [
        ("io.confluent.connect.transforms.ReplaceField$Value", "Confluent's", f"{KAFKA}ReplaceField has the same"),
        ("io.debezium.transforms.ContentBasedRouter", "Debezium's", "RegexRouter takes the topic's name"),
        ("io.debezium.transforms.partitions.PartitionRouting", "Debezium's", ""),
        ("io.aiven.kafka.connect.transforms.MakeTombstone", "Aiven's", ""),
        ("com.example.smt.MaskFields$Value", "no installed package has it", ""),
    ],
)
def test_a_class_of_another_vendor_is_never_answered_with_one_that_does_something_else(type_, vendor, close):
    hint = hint_of(type_)
    assert vendor in hint
    assert close in hint
    assert "did you mean" not in hint
    assert "write it as a package of its own" in hint


@pytest.mark.parametrize("type_", ["MaskFeld$Value", f"{KAFKA}MaskFeld$Value"])
def test_a_misspelt_class_of_kafka_still_gets_a_suggestion(type_):
    assert hint_of(type_) == "did you mean 'MaskField'?"


def test_what_comes_close_is_listed_by_a_vendor_that_is_known():
    assert [name for name in _CLOSE if not name.startswith(tuple(_VENDORS))] == []


CONFLUENT = "io.confluent.connect.transforms."


def test_an_inner_class_without_sides_has_a_class_of_its_own():
    chain = parse_chain(chain_of(f"{CONFLUENT}ExtractTopic$Header", field="h"))
    (stage,) = chain.stages
    assert (stage.label, stage.side, stage.connect_class) == (
        "ExtractTopic$Header",
        "",
        f"{CONFLUENT}ExtractTopic$Header",
    )
    assert parse_chain(chain.to_stages()) == chain


@pytest.mark.parametrize(
    ("type_", "hint"),
    [
        (f"{CONFLUENT}ExtractTopic", "{0}$Key or {0}$Value or {0}$Header"),
        (f"{CONFLUENT}ExtractTopic$Headers", "{0}$Key or {0}$Value or {0}$Header"),
        ("io.aiven.kafka.connect.transforms.ExtractTopic", "{0}$Key or {0}$Value"),
        ("Filter$Value", f"Filter or {CONFLUENT}Filter$Value"),
        ("TimestampRouter$Value", "TimestampRouter"),
    ],
)
def test_a_wrong_side_is_answered_with_what_there_is(type_, hint):
    with pytest.raises(ConfigError) as error:
        parse_chain(chain_of(type_))
    assert error.value.problems[0].code == "SMT010"
    assert error.value.problems[0].hint == "write " + hint.format(type_.partition("$")[0])


def test_a_name_of_several_vendors_needs_its_package():
    with pytest.raises(ConfigError, match="SMT023"):
        parse_chain(chain_of("ExtractTopic$Value"))
