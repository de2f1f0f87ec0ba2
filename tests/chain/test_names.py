"""Names of classes and options that are not today's: former ones are taken, those of other vendors are told apart."""

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
        ("InsertInValue", {"topic": "t", "offset": "o"}, {"topic.field": "t", "offset.field": "o"}),
        ("SetKeySchemaMetadata", {"name": "n", "version": "2"}, {"schema.name": "n", "schema.version": 2}),
        ("MaskKey", {"fields": "a"}, {"fields": ["a"]}),
        (f"{KAFKA}HoistKeyToStruct", {"field": "a"}, {"field": "a"}),
        ("ExtractValueFromStruct", {"field": "a"}, {"field": "a"}),
    ],
)
def test_former_names_are_taken_with_a_warning_that_says_todays(type_, options, meant):
    chain = parse_chain(chain_of(type_, **options))
    (stage,) = chain.stages
    assert stage.transform.configured() == meant
    assert stage.side == ("key" if "Key" in type_ else "value")
    told = " ".join(f"{w.statement} {w.hint}" for w in chain.warnings)
    changed = [key for key in options if key not in meant]
    assert all(f"'{key}'" in told and f"write {new}" in told for key, new in zip(changed, meant, strict=False))
    assert [w.code for w in chain.warnings].count("SMT017") == len(changed)
    assert [w.code for w in chain.warnings].count("SMT016") == ("$" not in type_)


def test_of_a_former_and_todays_option_todays_counts_and_the_warning_says_so():
    (warning,) = parse_chain(chain_of("ReplaceField$Value", blacklist="a", exclude="b")).warnings
    assert "'exclude' is given too, which counts" in warning.statement


def test_kafka_itself_knows_no_former_names():
    former = chain_of(f"{KAFKA}ReplaceField$Value", blacklist="a")
    chain = parse_chain(former, unknown_options="warn", as_kafka=True)
    assert chain.stages[0].transform.configured() == {}
    with pytest.raises(ConfigError, match="SMT010"):
        parse_chain(chain_of("MaskKey", fields="a"), as_kafka=True)


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
