"""Asset checks: each is given what is wrong and sees it, by itself and in runs."""

import logging
from dataclasses import replace

import dagster as dg
import pytest

from dagster_smt.certify.certificate import Certificate, CertifiedStage, CertifiedWay, Finding
from dagster_smt.certify.difference_places import DifferencePlace
from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.destinations import Destination
from dagster_smt.model.reports.run_report import (
    HeldBack,
    LedgerEntry,
    LedgerLine,
    RejectedRecord,
    RunReport,
    StageCounts,
    TopicCounts,
)
from dagster_smt.model.reports.table_facts import FileSizes, TableFacts
from dagster_smt.model.reports.unmasked import Unmasked
from dagster_smt.model.schema import INT64
from dagster_smt.model.topics.columns import Column, Row
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration import SmtChecks, SmtTable, build_smt_asset
from dagster_smt.orchestration.check_specs import checks_of
from dagster_smt.orchestration.checks import CHECKS, Evidence
from dagster_smt.run.contract import contract_problems
from dagster_smt.run.facts import sample_of
from dagster_smt.spark.types import spark_type
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink
from tests.orchestration.test_assets import DROP, HIDE, KEY, PERSON, append, asset, checks, read, table

LESS_THAN_HALF = SmtChecks(failed_share=0.4)
GOOD = Evidence(
    RunReport(
        "orders",
        Window(),
        records_in=5,
        records_out=4,
        dropped=1,
        stages=[StageCounts("hide", "MaskField$Value", 5)],
        ledger=[LedgerLine(LedgerEntry(0, "hide", "masked", "name"), 5)],
    ),
    TableFacts(rows=4, counted=4, lag={"orders": 0}),
)
DEAD = LedgerLine(LedgerEntry(0, "hide", "masked", "nmae"), 0)
DIFFERING = LedgerLine(LedgerEntry(0, "columns", "mismatched", "id", "key"), 2)
RENAMED = LedgerLine(LedgerEntry(0, "names", "renamed", "nmae", target="x"), 0)
ALL_FAILED, FINE = TopicCounts(5, 5), TopicCounts(5)
OLD = Unmasked("", "hide", "masked", "value", "nmae", runs=("r1",), offsets=offsets_of([Range("orders", 0, 2, 5)]))
REJECT = RejectedRecord("orders", 0, 1, "hide", Problem("SMT401", "", "no text"))


def reported(**changes):
    return replace(GOOD, report=replace(GOOD.report, **changes))


def facts_with(**changes):
    return replace(GOOD, facts=replace(GOOD.facts, **changes))


@pytest.mark.parametrize("name", CHECKS)
def test_a_good_run_passes_every_check(name):
    judged = CHECKS[name](GOOD)
    assert judged.passed, judged.statement


@pytest.mark.parametrize("name", CHECKS)
def test_a_run_without_records_has_a_result_too(name):
    assert CHECKS[name](Evidence(RunReport("orders", Window(), status="empty"), TableFacts())).passed


NO_HOST = Problem("SMT643", "foreign stages", "their process ended")
DIFFERENT = Certificate(
    name="orders",
    hash="",
    connect_version="4.3.1",
    jars=(),
    records=5,
    refused=0,
    skipped=0,
    stages=(CertifiedStage("hide", "MaskField$Value", "", 5),),
    ways=(CertifiedWay("records in Python", 5),),
    findings=(
        Finding(
            "records in Python",
            0,
            "",
            3,
            frozenset({1, 2, 3}),
            DifferencePlace("orders-0@1", "value", "a", "null", "a text"),
        ),
    ),
)
BROKEN = Destination("orders", "lake/orders", "failed", 3, problems=(Problem("SMT554", "lake/orders", "gone", ""),))
WRONG = [
    ("no_dead_letters", reported(failed=1, records_out=3, rejects=[REJECT]), "1 of 5 records failed", "WARN"),
    ("no_dead_letters", reported(failed=5, records_out=0, topics={"orders": ALL_FAILED}), "5 of 5 records", "ERROR"),
    ("no_dead_letters", reported(failed=1, topics={"a": FINE, "b": ALL_FAILED}), "; of b 100% or more", "ERROR"),
    ("no_dead_letters", replace(reported(failed=2, records_out=3), checks=LESS_THAN_HALF), "2 of 5 records", "ERROR"),
    ("no_dead_letters", replace(reported(failed=1, records_out=4), checks=LESS_THAN_HALF), "1 of 5 records", "WARN"),
    (
        "no_dead_letters",
        reported(failed=3, records_out=1, unwritten=(Range("orders", 0, 1, 3),)),
        "3 of 5 records failed; 2 dead letters could not be written",
        "ERROR",
    ),
    ("offsets_contiguous", facts_with(gaps={"orders": {"0": [[2, 5]]}}), "3 offsets were skipped permanently", "WARN"),
    ("offsets_contiguous", facts_with(holes={"orders": {"0": [[2, 5]]}}), "3 offsets between those that", "WARN"),
    ("rows_match_offsets", facts_with(counted=3), "the table has 3 rows, its commits have 4", "ERROR"),
    ("rows_match_offsets", facts_with(counted=5), "the table has 5 rows, its commits have 4", "ERROR"),
    ("rows_match_offsets", reported(records_in=6), "6 records were read, 5 are accounted for", "ERROR"),
    ("rows_match_offsets", facts_with(counted=3, mode="upsert"), "the table has 3 keys, its commits have 4", "ERROR"),
    ("keys_unique", facts_with(mode="upsert", repeated_keys=2), "2 keys have more than one row", "ERROR"),
    ("keys_unique", facts_with(mode="scd2", repeated_keys=1), "1 keys have more than one current version", "ERROR"),
    ("schema_matches_plan", facts_with(schema_problems={"id": "planned as int"}), "1 columns differ", "ERROR"),
    ("dead_mask", reported(ledger=[DEAD]), "touched nothing although records reached it: nmae (hide)", "ERROR"),
    ("dead_mask", reported(ledger=[RENAMED]), "nmae (names)", "WARN"),
    ("dead_mask", reported(ledger=[RENAMED, DEAD]), "nmae (names), nmae (hide)", "ERROR"),
    (
        "dead_mask",
        facts_with(unmasked=(OLD,)),
        "on record: nmae (hide) touched nothing in orders-0 [2, 5), written by r1",
        "ERROR",
    ),
    ("dead_mask", facts_with(unmasked=(replace(OLD, action="renamed"),)), "on record", "WARN"),
    (
        "dead_mask",
        facts_with(unmasked=(replace(OLD, action="dropped", left_out=True),)),
        "was not in the run's chain",
        "ERROR",
    ),
    (
        "masked_values",
        facts_with(residue={("value.a", "value.b"): 2}, sampled=9),
        "also in value.b (of value.a)",
        "WARN",
    ),
    ("key_matches_value", reported(ledger=[DIFFERING]), "key and value differ in id (2 records)", "WARN"),
    ("tables_written", reported(destinations=(BROKEN,)), "1 of 1 tables were not written: orders", "ERROR"),
    ("tables_written", facts_with(waiting=3), "3 offsets wait for a table", "ERROR"),
    ("same_as_connect", replace(GOOD, certificate=DIFFERENT), "3 of 5 records differ", "ERROR"),
    ("same_as_connect", replace(GOOD, certificate=NO_HOST), "not known: SMT643 foreign stages", "WARN"),
    ("small_files", facts_with(files=FileSizes(60, 900, 30)), "30 of 60 files are smaller than 16 MB; launch", "WARN"),
    (
        "held_back",
        facts_with(held_back=(HeldBack("orders", "value", "nickname", 3),)),
        "nobody has decided about: value nickname of orders; the rows do not have it; add it to the file of paths",
        "WARN",
    ),
    ("lag", facts_with(lag={"orders": 2, "bills": 1}), "3 offsets are not read yet", "WARN"),
    ("contract", facts_with(broken={"id": "int is promised"}), "the contract is broken: id: int is promised", "ERROR"),
]


@pytest.mark.parametrize(("name", "evidence", "statement", "severity"), WRONG)
def test_what_is_wrong_fails_its_check(name, evidence, statement, severity):
    judged = CHECKS[name](evidence)
    assert (judged.passed, judged.severity) == (False, severity)
    assert statement in judged.statement


def test_every_check_has_a_case_that_fails_it():
    assert {name for name, *_ in WRONG} == set(CHECKS)


def test_what_no_record_has_reached_is_not_claimed():
    """All records failed before a stage: nothing is known of its masks."""
    late = StageCounts("late", "MaskField$Value", 0)
    unseen = LedgerLine(LedgerEntry(1, "late", "masked", "email"), 0)
    nothing = reported(stages=[StageCounts("hide", "MaskField$Value", 0)], ledger=[DEAD])
    judged = CHECKS["dead_mask"](nothing)
    assert (judged.passed, "no record reached a mask" in judged.statement) == (True, True)
    refused = reported(stages=[StageCounts("hide", "MaskField$Value", 5, failed=5)], ledger=[DEAD])
    assert CHECKS["dead_mask"](refused).statement == judged.statement
    some = reported(stages=[*GOOD.report.stages, late], ledger=[*GOOD.report.ledger, unseen])
    assert CHECKS["dead_mask"](some).statement.endswith("no record reached email (late)")


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_is_above_nothing_and_at_most_all(share):
    with pytest.raises(ConfigError, match="SMT307"):
        SmtChecks(failed_share=share)


def test_a_sample_without_records_is_refused():
    with pytest.raises(ConfigError, match="SMT307"):
        SmtChecks(same_as_connect=0)


def test_a_connector_without_its_check_is_refused():
    with pytest.raises(ConfigError, match=r"SMT307 checks.connector"):
        SmtChecks(connector="sink.json")


def test_lag_up_to_a_limit_passes():
    assert CHECKS["lag"](replace(facts_with(lag={"orders": 3}), checks=SmtChecks(max_lag=3))).passed


CONDITIONAL = {
    "held_back",
    "tables_written",
    "keys_unique",
    "schema_matches_plan",
    "dead_mask",
    "masked_values",
    "key_matches_value",
    "lag",
    "contract",
    "small_files",
    "same_as_connect",
}
"""Checks that only some tables have; every table has the others."""


def conditional(*arguments):
    return [name for name in checks_of(*arguments) if name in CONDITIONAL]


def test_tables_have_the_checks_that_can_be_told_of_them():
    chain, none = parse_chain([HIDE]), parse_chain({"transforms": ""})
    records, columns = DeltaSink("t", "records"), DeltaSink("t", "columns")
    always = [name for name in CHECKS if name not in CONDITIONAL]
    assert checks_of(SmtChecks(), none, records) == always
    assert conditional(SmtChecks(), chain, records) == ["dead_mask", "masked_values"]
    assert conditional(SmtChecks(), none, columns) == ["schema_matches_plan"]
    assert conditional(SmtChecks(), none, DeltaSink("t/{topic}", "columns")) == ["tables_written"]
    with_keys = DeltaSink("t", "columns", mode="upsert")
    assert conditional(SmtChecks(), none, with_keys) == ["keys_unique", "schema_matches_plan"]
    row = Row((Column("id", INT64),), ("id",), verify_integrity="check")
    assert conditional(SmtChecks(), none, records, row) == ["key_matches_value"]
    assert conditional(SmtChecks(), none, records, replace(row, verify_integrity=True)) == []
    assert checks_of(SmtChecks(off=[*always, "masked_values"], max_lag=1), chain, records) == ["dead_mask", "lag"]
    assert conditional(SmtChecks(max_small_files=0.5), none, records) == ["small_files"]
    assert conditional(SmtChecks(same_as_connect=100), none, records) == ["same_as_connect"]
    assert conditional(SmtChecks(max_small_files=0.5), none, FileTopicSink("t")) == []


def test_a_broken_contract_names_who_reads_the_column():
    readers = {"id": ["below.number"], "a.b": ["below.x", "other.y"], "ab": ["below.z"]}
    broken = {"id": "gone", "a": "gone", "new": "gone"}
    judged = CHECKS["contract"](replace(facts_with(broken=broken), readers=readers))
    rows = {r.data["column"]: r.data["read by"] for r in judged.metadata["broken"].records}
    assert rows == {"id": "below.number", "a": "below.x, other.y", "new": ""}


def test_a_contract_needs_columns_and_a_schema(tmp_path):
    with pytest.raises(ConfigError, match="SMT044"):
        asset(tmp_path, checks=SmtChecks(contract="id INT"))
    with pytest.raises(ConfigError, match=r"checks\.contract"):
        SmtChecks(contract="id INTT")


def test_a_contract_is_kept_and_broken_in_runs(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    declared = Format("json_schema", parse_ddl("id BIGINT NOT NULL, name STRING, at STRUCT<x: INT>"))

    def columns(contract):
        return build_smt_asset(
            SmtTable(
                key="columns",
                chain=[HIDE],
                table=table(tmp_path, "people", value=declared),
                sink=DeltaSink(tmp_path / "columns", "columns"),
                checks=SmtChecks(contract=contract),
            )
        )

    @dg.asset(deps=["columns"])
    def below():
        dep = dg.TableColumnDep(dg.AssetKey("columns"), "note")
        lineage = dg.TableColumnLineage({"text": [dep]})
        return dg.MaterializeResult(metadata={"dagster/column_lineage": lineage})

    rest, broken = (
        "id BIGINT NOT NULL, at STRUCT<x: INT>",
        "id INT, name STRING NOT NULL, at STRUCT<y: INT>, note STRING",
    )
    results = []
    with dg.instance_for_test() as instance:
        dg.materialize([below], instance=instance)
        for contract in (rest, broken):
            append(tmp_path, "people", PERSON)
            both = [columns(contract), below]
            results.append(checks(run_all(instance, both, spark))["contract"])
    assert (results[0].passed, results[1].passed) == (True, False)
    assert [tuple(r.data.values()) for r in results[1].metadata["broken"].records] == [
        ("id", "int is promised, it is bigint", ""),
        ("name", "it is promised never to be null, but it may be", ""),
        ("at.y", "int is promised, but there is no such column", ""),
        ("note", "string is promised, but there is no such column", "below.text"),
    ]


def test_a_column_that_the_chain_makes_no_more_breaks_the_contract():
    old = spark_type(parse_ddl("id BIGINT, email STRING, _source_topic STRING"))
    declared = parse_ddl("id BIGINT, email STRING, _source_topic STRING")
    planned = parse_ddl("id BIGINT, mail STRING")
    assert contract_problems(declared, old, planned, ("_source_topic",)) == {
        "email": "string is promised, but the chain no longer makes it"
    }
    assert contract_problems(declared, old) == {}


def run_all(instance, definitions, session):
    return dg.materialize(definitions, instance=instance, resources={"spark": session}, raise_on_error=False)


@pytest.mark.parametrize("wrong", [{"off": ["dead_msk"]}, {"blocking": ["x"]}, {"severity": {"y": "WARN"}}])
def test_a_check_that_is_not_there_is_refused(wrong):
    with pytest.raises(ConfigError, match=r"(?s)SMT036.*there are: no_dead_letters"):
        SmtChecks(**wrong)


def run(instance, definition, session):
    return dg.materialize([definition], instance=instance, resources={"spark": session}, raise_on_error=False)


def test_a_misspelt_mask_is_a_warning_in_the_log_and_a_red_check(spark, tmp_path):
    """How it turns green again: see ``test_repair``."""
    append(tmp_path, "people", PERSON, PERSON)
    misspelt = {**HIDE, "options": {**HIDE["options"], "fields": ["nmae"]}}
    with dg.instance_for_test() as instance:
        wrong = run(instance, asset(tmp_path, chain=[misspelt, DROP]), spark)
        logs = [e for e in instance.all_logs(wrong.run_id) if e.level == logging.WARNING]
    dead = checks(wrong)["dead_mask"]
    assert (dead.passed, dead.severity.value) == (False, "ERROR")
    assert [dict(r.data) for r in dead.metadata["untouched"].records] == [
        {
            "stage": "hide",
            "action": "masked",
            "side": "value",
            "path": "nmae",
            "offsets": 2,
            "ranges": "people-0 [0, 2)",
            "runs": wrong.run_id,
            "why": "touched nothing",
        }
    ]
    assert ["SMT350" in e.user_message for e in logs] == [True]
    (event,) = wrong.get_asset_materialization_events()
    metadata = event.step_materialization_data.materialization.metadata
    assert "dagster_smt/masked_fields" not in metadata  # it was not masked


def test_a_path_of_a_struct_under_v1_is_told_v2(spark, tmp_path):
    append(tmp_path, "people", {"customer": {"Name": "x"}, "id": 1})
    chain = [{**HIDE, "options": {**HIDE["options"], "fields": ["customer.Name"]}}]
    with dg.instance_for_test() as instance:
        records = run(instance, asset(tmp_path, chain=chain), spark)
        declared = Format("json_schema", parse_ddl("id BIGINT, customer STRUCT<Name: STRING>"))
        columns = build_smt_asset(
            SmtTable(
                key="columns",
                chain=chain,
                table=table(tmp_path, "people", value=declared),
                sink=DeltaSink(tmp_path / "columns", "columns"),
                dead_paths="warn",
            )
        )
        typed = run(instance, columns, spark)
    for result in (records, typed):
        assert "field.syntax.version=V2" in checks(result)["dead_mask"].metadata["hint"].value


def test_two_assets_on_one_table_are_refused_until_one_takes_over(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    with dg.instance_for_test() as instance:
        run(instance, asset(tmp_path), spark)
        other = build_smt_asset(
            SmtTable(key="other", chain=[DROP], table=table(tmp_path, "people"), sink=DeltaSink(tmp_path / "lake"))
        )
        refused = run(instance, other, spark)
        (event,) = refused.get_step_failure_events()
        config = {"ops": {"other": {"config": {"window": {"take_over": True}}}}}
        append(tmp_path, "people", PERSON)
        taken = dg.materialize([other], config, instance=instance, resources={"spark": spark})
        again = run(instance, asset(tmp_path), spark)
    text = event.step_failure_data.user_failure_data.description
    assert "SMT524" in text and "written by lake/people" in text and "window.take_over" in text
    assert (taken.success, again.success) == (True, False)


def test_a_masked_value_that_is_elsewhere_is_found_and_never_shown(spark, tmp_path):
    append(tmp_path, "people", *[{"name": f"octocat{n}", "url": f"/users/octocat{n}", "id": n} for n in range(300)])
    with dg.instance_for_test() as instance:
        result = run(instance, asset(tmp_path, chain=[HIDE]), spark)
        texts = [str(e) for e in instance.all_logs(result.run_id)]
        append(tmp_path, "people", {"name": "octocat", "id": 1})
        clean = run(instance, asset(tmp_path, chain=[HIDE]), spark)
    check = checks(result)["masked_values"]
    assert (check.passed, check.severity.value) == (False, "WARN")
    assert [dict(r.data) for r in check.metadata["found"].records] == [
        {"masked": "value.name", "also in": "value.url", "records": 200}
    ]
    assert not any("octocat" in text for text in texts)
    assert checks(clean)["masked_values"].passed


def test_a_masked_value_may_stay_where_the_chain_says_why():
    chain = parse_chain({"transforms": "", "mask.exceptions": "a", "mask.exceptions.a.fields": "value.**.b", **REASON})
    hits = {("value.x", "value.b"): 2, ("value.x", "value.c[].b"): 3, ("value.x", "value.bb"): 1}
    judged = CHECKS["masked_values"](
        replace(facts_with(residue=hits, sampled=9), mask_exceptions=chain.mask_exceptions)
    )
    assert not judged.passed and "value.bb" in judged.statement and "value.b," not in judged.statement
    assert judged.metadata["excepted"] == ["value.b: it is public", "value.c[].b: it is public"]
    del hits["value.x", "value.bb"]
    judged = CHECKS["masked_values"](
        replace(facts_with(residue=hits, sampled=9), mask_exceptions=chain.mask_exceptions)
    )
    assert judged.passed and "except 2 fields that the chain permits" in judged.statement


REASON = {"mask.exceptions.a.reason": "it is public"}


def test_exceptions_of_the_definition_count_in_runs(spark, tmp_path):
    """The run config holds stages only; the chain of the definition is still the one that is run."""
    append(tmp_path, "people", {"name": "octocat", "url": "/users/octocat", "id": 1})
    chain = {
        "transforms": "hide",
        "transforms.hide.type": "MaskField$Value",
        "transforms.hide.fields": "name",
        "mask.exceptions": "a",
        "mask.exceptions.a.fields": "value.url",
        **REASON,
    }
    definition = build_smt_asset(
        SmtTable(key="one", chain=chain, table=table(tmp_path, "people"), sink=DeltaSink(tmp_path / "one", "records"))
    )
    with dg.instance_for_test() as instance:
        check = checks(run(instance, definition, spark))["masked_values"]
    assert check.passed and check.metadata["excepted"].value == ["value.url: it is public"]


def test_of_a_table_of_columns_keys_and_topics_are_no_part(spark, tmp_path):
    value = {"name": "people", "id": 1}  # the topic's name, too
    append(tmp_path, "people", value)
    declared = Format("json_schema", parse_ddl("id BIGINT, name STRING"))
    source = table(tmp_path, "people", value=declared)
    passed = {}
    for kind in ("columns", "records"):
        definition = build_smt_asset(
            SmtTable(key=kind, chain=[HIDE], table=source, sink=DeltaSink(tmp_path / kind, kind))
        )
        with dg.instance_for_test() as instance:
            passed[kind] = checks(run(instance, definition, spark))["masked_values"].passed
    assert passed == {"columns": True, "records": False}


def test_a_sample_takes_the_last_records_of_every_partition():
    window = Window((Range("a", 0, 0, 1000), Range("b", 0, 5, 7), Range("c", 0, 3, 3)))
    assert sample_of(window, 10) == Window((Range("a", 0, 995, 1000), Range("b", 0, 5, 7)))
    many = Window(tuple(Range(f"t{n:03}", 0, 0, 9) for n in range(300)))
    assert sample_of(many, 200).records == 200


def test_rows_that_others_took_away_are_seen(spark, tmp_path):
    append(tmp_path, "people", PERSON, PERSON)
    with dg.instance_for_test() as instance:
        first = run(instance, asset(tmp_path), spark)
        spark.sql(f"DELETE FROM delta.`{tmp_path / 'lake'}` WHERE offset = 0")
        append(tmp_path, "people", PERSON)
        second = run(instance, asset(tmp_path), spark)
    assert checks(first)["rows_match_offsets"].passed
    assert not checks(second)["rows_match_offsets"].passed
    assert read(spark, tmp_path).count() == 2


def test_a_column_that_others_changed_is_seen(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    declared = Format("json_schema", parse_ddl("id BIGINT, name STRING, note STRING"))
    people = build_smt_asset(
        SmtTable(
            key=KEY,
            chain=[HIDE],
            table=table(tmp_path, "people", value=declared),
            sink=DeltaSink(tmp_path / "lake", "columns"),
            checks=SmtChecks(blocking=["schema_matches_plan"], severity={"schema_matches_plan": "WARN"}),
        )
    )
    with dg.instance_for_test() as instance:
        result = checks(run(instance, people, spark))["schema_matches_plan"]
    assert (result.passed, result.blocking, result.severity.value) == (True, True, "WARN")
    from dagster_smt.run.facts import _differences

    assert _differences({"id": "bigint", "n": "int"}, {"id": "string", "n": "bigint"}) == {
        "id": "planned as bigint, but the table has string"
    }
    assert _differences({"id": "bigint"}, {}) == {"id": "planned as bigint, but the table has no such column"}


def test_dead_letters_are_told_and_what_is_behind_is_counted(spark, tmp_path):
    append(tmp_path, "people", PERSON, {"name": {"no": "text"}})
    people = asset(
        tmp_path, errors_tolerance="all", dead_letter_topic="dead", checks=SmtChecks(max_lag=0, off=["dead_mask"])
    )
    config = {"ops": {"lake__people": {"config": {"window": {"max_records": 1}}}}}
    with dg.instance_for_test() as instance:
        behind = dg.materialize([people], config, instance=instance, resources={"spark": spark})
        whole = run(instance, people, spark)
    assert not checks(behind)["lag"].passed
    assert checks(behind)["lag"].metadata["lag_by_topic"].value == {"people": 1}
    assert checks(whole)["lag"].passed
    letters = checks(whole)["no_dead_letters"]
    assert (letters.passed, letters.severity.value) == (False, "ERROR")  # the one record of the run
    assert "dead_mask" not in checks(whole)
