"""Whatever fails after a commit: the run stays a success, and what failed is told in checks and metadata."""

import dagster as dg
import pytest

from dagster_smt.errors import Problem, TableError
from dagster_smt.orchestration import SmtChecks, SmtTable, build_smt_op
from dagster_smt.orchestration.checks import CHECKS, NEEDED
from dagster_smt.orchestration.runs.afterwards import UNSEEN
from dagster_smt.run import facts
from dagster_smt.tables.sink_options import DeltaSink
from tests.orchestration.test_assets import DROP, HIDE, KEY, PERSON, append, asset, checks, events, table
from tests.quick import quick

SECRET = "secret-4711"
FACTS, STEPS, EXECUTION = (
    f"dagster_smt.{name}" for name in ("run.facts", "orchestration.steps", "orchestration.runs.execution")
)
PLACES = {
    f"{FACTS}.open_table": {
        "offsets_contiguous",
        "rows_match_offsets",
        "lag",
        "contract",
        "schema_matches_plan",
        "dead_mask",
    },
    f"{FACTS}.open_source": {"offsets_contiguous", "lag", "masked_values"},
    f"{FACTS}.report_of": {"offsets_contiguous", "rows_match_offsets", "lag", "dead_mask"},
    f"{FACTS}.choose_topics": {"offsets_contiguous", "lag"},
    f"{FACTS}.offsets_of": {"offsets_contiguous", "lag"},
    f"{FACTS}._planned": {"schema_matches_plan", "contract"},
    f"{FACTS}._differences": {"schema_matches_plan", "contract"},
    f"{FACTS}.contract_problems": {"contract"},
    f"{FACTS}.needed": {"masked_values"},
    f"{FACTS}._residue": {"masked_values"},
    f"{EXECUTION}.run_metadata": set(),
    "every check": set(CHECKS),
}
"""Everything that a run does after its commit, and the checks that then do not know."""
CONTRACT = SmtChecks(max_lag=0, contract="id BIGINT")


def raising(error):
    def fails(*args, **kwargs):
        raise error

    return fails


@pytest.fixture(scope="module")
def instance():
    with dg.instance_for_test() as result:
        yield result


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """An asset with every check but those of records; each run finds one record more."""
    from dagster_smt.model.topics.format import Format
    from dagster_smt.tables.ddl import parse_ddl

    root = tmp_path_factory.mktemp("afterwards")
    declared = Format("json_schema", parse_ddl("id BIGINT, name STRING, note STRING"))
    append(root, "people", PERSON)
    from dagster_smt.orchestration import build_smt_asset

    sink = DeltaSink(root / "lake", "columns")
    result = build_smt_asset(
        SmtTable(key=KEY, chain=[HIDE, DROP], table=table(root, "people", value=declared), sink=sink, checks=CONTRACT)
    )
    return root, result


# of each set of checks one place, and what nothing but the metadata needs
QUICK = [f"{FACTS}.{name}" for name in ("open_table", "open_source", "_differences", "contract_problems", "_residue")]


@pytest.mark.parametrize("place", quick(PLACES, *QUICK, f"{EXECUTION}.run_metadata", "every check"))
def test_a_committed_run_succeeds_whatever_fails_after_it(spark, instance, people, monkeypatch, place):
    root, built = people
    append(root, "people", PERSON)
    if place == "every check":
        for name in CHECKS:
            monkeypatch.setitem(CHECKS, name, raising(ValueError(SECRET)))
    else:
        error = TableError(Problem("SMT501", "other", "gone")) if "topics" in place else RuntimeError(SECRET)
        monkeypatch.setattr(place, raising(error))
    result = dg.materialize([built], instance=instance, resources={"spark": spark}, raise_on_error=False)
    assert result.success
    (message,) = events(result)
    outcome = checks(result)
    unknown = {name for name, check in outcome.items() if "not known" in (check.description or "")}
    assert unknown == PLACES[place] & set(outcome)
    assert all(not outcome[name].passed and outcome[name].severity.value == "WARN" for name in unknown)
    if place != "every check":
        assert UNSEEN in message.metadata
    assert message.metadata["dagster_smt/status"].value == "committed"
    assert SECRET not in str([e.to_json() if hasattr(e, "to_json") else e for e in result.all_events])


def test_a_session_that_is_gone_after_the_commit_fails_nothing(spark, instance, people, monkeypatch):
    """Whatever a run asks its session for, it has asked before it commits, or it does without."""
    root, built = people
    append(root, "people", PERSON)
    look, conf = facts.table_facts, type(spark.conf)

    def last_look(*args, **more):
        result = look(*args, **more)
        monkeypatch.setattr(conf, "get", raising(ConnectionRefusedError(SECRET)))
        return result

    monkeypatch.setattr(facts, "table_facts", last_look)
    result = dg.materialize([built], instance=instance, resources={"spark": spark}, raise_on_error=False)
    assert result.success
    (message,) = events(result)
    assert message.metadata["dagster_smt/status"].value == "committed"
    assert message.metadata["dagster_smt/spark_app_id"].value.startswith("local-")


def test_an_op_succeeds_too(spark, tmp_path, monkeypatch):
    append(tmp_path, "people", PERSON)
    op = build_smt_op(
        SmtTable(chain=[HIDE], table=table(tmp_path, "people"), sink=DeltaSink(tmp_path / "lake")), name="people"
    )

    @dg.job(resource_defs={"spark": dg.ResourceDefinition.hardcoded_resource(spark)})
    def job():
        op()

    monkeypatch.setattr(f"{FACTS}.open_table", raising(OSError("gone")))
    monkeypatch.setattr(f"{EXECUTION}.run_metadata", raising(KeyError(SECRET)))
    result = job.execute_in_process()
    assert result.success and result.output_for_node("people")["records_in"] == 1


def test_a_broken_neighbour_hides_nothing(spark, tmp_path):
    """A topic that cannot be read fails the step; what was committed of the other is told all the same."""
    append(tmp_path, "people", PERSON)
    append(tmp_path, "broken", PERSON)
    (tmp_path / "topics" / "broken" / "0" / "rubbish").write_text("")
    built = asset(tmp_path, topics=("people", "broken"), checks=SmtChecks(max_lag=0))
    result = dg.materialize([built], resources={"spark": spark}, raise_on_error=False)
    (message,) = events(result)
    assert not result.success and message.metadata["dagster_smt/records_in"].value == 1
    assert "SMT502" in str(message.metadata[UNSEEN].value)
    assert not checks(result)["lag"].passed and checks(result)["rows_match_offsets"].passed


def test_every_check_that_looks_at_the_table_says_what_it_needs():
    assert set(NEEDED) == set(CHECKS)
