"""What people do in Dagster's web interface, done by a browser: see the graph, launch, sense, backfill, stop, mend.

The tests go on from one another, in this order. Screenshots of each end are kept where ``SMT_UI_SCREENSHOTS`` says.
"""

import re
import time

import pytest

from tests.ui.conftest import CHAIN

pytestmark = pytest.mark.ui
SWITCH = "label:has(#handle)"
"""The switch on a sensor's page."""
HISTORY = {"ops": {"shop__history": {"config": {"micro_batch": {"max_records": 100}}}}}
CLICKS = {"ops": {"shop__clicks": {"config": {"micro_batch": {"max_records": 100}}}}}


def known(shop):
    return {run["runId"] for run in shop.runs()}


def materialized(shop, *path):
    """The keys of a table's partitions that are materialized."""
    query = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
        partitionKeys assetPartitionStatuses { ... on DefaultPartitionStatuses { materializedPartitions } } } } }"""
    node = shop.ask(query, key={"path": list(path)})["assetNodeOrError"]
    return node["partitionKeys"], node["assetPartitionStatuses"]["materializedPartitions"]


def sensor(shop, page, name):
    """Click the switch of a sensor, on its page."""
    page.goto(f"{shop.url}/automation")
    page.get_by_text(name, exact=True).first.click()
    page.locator(SWITCH).first.click()
    page.wait_for_timeout(1_000)


def test_the_graph_shows_topics_and_tables_with_columns(shop, page):
    page.goto(f"{shop.url}/asset-groups")
    for name in ("masked", "orders", "history", "dead_letters", "shop"):
        page.get_by_text(name, exact=True).first.wait_for()
    page.get_by_text("Never materialized").first.wait_for()
    page.get_by_text("topic", exact=True).first.wait_for()  # what tells a topic from a table of the same name
    page.screenshot(path=shop.screenshots / "graph.png")
    page.goto(f"{shop.url}/assets/shop/orders")
    page.get_by_text("customer.email", exact=True).wait_for()
    page.get_by_text("_source_offset", exact=True).wait_for()


LAUNCHED = """
ops:
  shop__orders:
    config:
      chain:
        stages:
          - alias: hide
            type: MaskField$Value
            options: {fields: [customer.email], replacment: x, replace.null.with.default: maybe, strict_paths: loose}
"""


def test_the_launchpad_knows_options_and_their_types(shop, page):
    page.goto(f"{shop.url}/assets/shop/orders")
    page.get_by_role("button", name="Materialize").first.click(modifiers=["Shift"])
    page.locator(".CodeMirror").first.wait_for()
    page.wait_for_timeout(1_000)  # it puts the default into the editor
    page.evaluate("text => document.querySelector('.CodeMirror').CodeMirror.setValue(text)", LAUNCHED)
    for message in (
        'unexpected config entry "replacment"',
        'not valid for expected type "Bool"',
        "SmtOptionStrictPaths",
    ):
        page.get_by_text(message).first.wait_for()


def test_a_sensor_turns_new_topics_into_partitions_and_runs(shop, page):
    sensor(shop, page, "new_shop_topics")
    first = shop.wait_for_run("SUCCESS")
    assert any(t["value"] == "new_shop_topics" for t in first["tags"] if t["key"] == "dagster_smt/sensor")
    keys, done = materialized(shop, "shop", "masked")
    assert (len(keys), sorted(done)) == (20, sorted(keys))  # 20 topics were one run
    before = known(shop)
    shop.add("shop.new", 7)
    shop.wait_for_run("SUCCESS", known=before)
    page.goto(f"{shop.url}/assets/shop/masked?view=partitions")
    page.get_by_text("shop.new", exact=True).first.wait_for()
    assert "shop.new" in materialized(shop, "shop", "masked")[1]
    page.screenshot(path=shop.screenshots / "partitions.png")
    sensor(shop, page, "new_shop_topics")


def test_a_lag_sensor_sees_unread_records_of_a_broker(shop, page):
    """Ticks of the daemon: one run for what is there, none while nothing is new, one more for what comes then."""
    before = known(shop)
    sensor(shop, page, "clicks_lag")
    shop.wait_for_run("SUCCESS", known=before)
    assert shop.rows("clicks") == 40
    between = known(shop)
    time.sleep(15)
    assert known(shop) == between
    shop.send("clicks", 20)
    run = shop.wait_for_run("SUCCESS", known=between)
    assert {"key": "dagster_smt/sensor", "value": "clicks_lag"} in run["tags"] and shop.rows("clicks") == 60
    sensor(shop, page, "clicks_lag")


def test_one_partition_is_launched(shop, page):
    before = known(shop)
    shop.add("shop.new", 3)
    page.goto(f"{shop.url}/assets/shop/masked")
    page.get_by_role("button", name=re.compile("Materialize")).first.click()
    page.get_by_text("Select a partition or create one").click()
    page.keyboard.type("shop.new")
    page.get_by_text("Select all (1)").click()
    page.get_by_text("Launch runs to materialize").click()  # closes the list
    page.get_by_role("button", name=re.compile("^Launch")).last.click()
    run = shop.wait_for_run("SUCCESS", known=before)
    assert {"key": "dagster/partition", "value": "shop.new"} in run["tags"]
    page.goto(f"{shop.url}/runs/{run['runId']}")
    page.get_by_text("Success").first.wait_for()


def test_a_backfill_of_all_topics_is_one_run_and_says_how_far_it_is(shop, page):
    before = known(shop)
    for number in range(20):
        shop.add(f"shop.t{number:02}", 5)
    page.goto(f"{shop.url}/assets/shop/masked")
    page.get_by_role("button", name=re.compile("Materialize")).first.click()
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("button", name=re.compile("^Launch")).last.click()
    run = shop.wait_for_run("SUCCESS", known=before)
    assert len(known(shop) - before) == 1
    page.goto(f"{shop.url}/runs/{run['runId']}")
    page.get_by_text("Success").first.wait_for()
    shop.wait_for_log(run["runId"], "window: 100 records")


@pytest.mark.parametrize(("table", "config"), [("history", HISTORY), ("clicks", CLICKS)])
def test_a_run_is_terminated_and_commits_nothing_more(shop, page, table, config):
    """On file topics and on the broker, with a process per step, as Dagster runs jobs by default."""
    if table == "clicks":
        shop.send("clicks", 20_000)
    before = known(shop)
    run_id = shop.launch("shop", table, config=config)
    shop.wait_for_log(run_id, "committed")
    page.goto(f"{shop.url}/runs/{run_id}")
    page.get_by_role("button", name="Terminate").click()
    page.get_by_role("button", name="Terminate 1 run").click()
    shop.wait_for_run("CANCELED", known=before)
    page.goto(f"{shop.url}/runs/{run_id}")
    page.get_by_text("Canceled").first.wait_for()
    rows = shop.rows(table)
    assert 0 < rows < 20_000 and rows % 20 == 0
    time.sleep(5)
    assert shop.rows(table) == rows  # nobody is writing any more


@pytest.mark.parametrize(("table", "config"), [("history", HISTORY), ("clicks", CLICKS)])
def test_a_run_that_takes_too_long_is_ended_by_the_daemon(shop, page, table, config):
    before, had = known(shop), shop.rows(table)
    run_id = shop.launch("shop", table, config=config, **{"dagster/max_runtime": "30"})
    shop.wait_for_run("FAILURE", known=before)
    page.goto(f"{shop.url}/runs/{run_id}")
    page.get_by_text("Exceeded maximum runtime").first.wait_for()
    rows = shop.rows(table)
    assert had < rows < 20_000 and rows % 20 == 0
    time.sleep(5)
    assert shop.rows(table) == rows


def test_a_dead_mask_is_red_until_its_records_are_run_again(shop, page):
    launch(shop, page, "FAILURE", "SUCCESS")
    page.goto(f"{shop.url}/assets/shop/orders?view=checks")
    page.get_by_text("dead_mask").first.click()
    page.get_by_text(re.compile("touched nothing although records reached it: customer.nmae")).first.wait_for()
    page.screenshot(path=shop.screenshots / "dead_mask_red.png")
    shop.chain(CHAIN)
    page.goto(f"{shop.url}/asset-groups")
    page.get_by_role("button", name="Reload definitions").click()
    page.wait_for_timeout(5_000)
    shop.add("orders", 5)
    launch(shop, page, "SUCCESS")
    page.goto(f"{shop.url}/assets/shop/orders?view=checks")
    page.get_by_text("dead_mask").first.click()
    page.get_by_text(re.compile("on record: customer.nmae .* touched nothing in orders-0")).first.wait_for()
    before = known(shop)
    shop.launch("shop", "orders", config={"ops": {"shop__orders": {"config": {"window": {"repair": True}}}}})
    shop.wait_for_run("SUCCESS", known=before)
    page.reload()
    page.get_by_text("dead_mask").first.click()
    page.get_by_text("every mask, drop and rename touched records").first.wait_for()
    page.goto(f"{shop.url}/assets/shop/orders?view=events")
    page.get_by_text("What each stage did").first.wait_for()
    page.screenshot(path=shop.screenshots / "report.png")


def launch(shop, page, *statuses):
    before = known(shop)
    page.goto(f"{shop.url}/assets/shop/orders")
    page.get_by_role("button", name=re.compile("Materialize")).first.click()
    shop.wait_for_run(*statuses, known=before)


def test_a_schedule_of_days_says_its_own_hour_and_zone(shop, page):
    page.goto(f"{shop.url}/automation")
    page.get_by_text(re.compile(r"At 03:00 AM (CET|GMT\+1)")).first.wait_for()


def test_each_day_of_a_backfill_shows_its_own_counts(shop, page):
    before = known(shop)
    page.goto(f"{shop.url}/assets/shop/visits")
    page.get_by_role("button", name=re.compile("Materialize")).first.click()
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("button", name=re.compile("^Launch")).last.click()
    shop.wait_for_run("SUCCESS", known=before)
    assert len(known(shop) - before) == 1
    for day, records in (("2023-11-13", 3), ("2023-11-14", 5)):
        page.goto(f"{shop.url}/assets/shop/visits?view=partitions&partition={day}")
        for name in ("records_in", "partition_row_count"):
            page.locator("tr", has_text=re.compile(rf"{name}\s*{records}\b")).first.wait_for()
        page.screenshot(path=shop.screenshots / f"day_{day}.png")


def test_a_run_of_nothing_but_failed_records_is_red(shop, page):
    before = known(shop)
    shop.launch("shop", "visits", config={}, **{"dagster/partition": "2023-11-15"})
    shop.wait_for_run("SUCCESS", known=before)
    page.goto(f"{shop.url}/assets/shop/visits?view=checks")
    page.get_by_text("no_dead_letters").first.click()
    page.get_by_text("2 of 2 records failed").first.wait_for()
    page.get_by_text(re.compile("^Failed$")).first.wait_for()
    page.get_by_text("dead_mask").first.click()
    page.get_by_text("no record reached a mask, drop or rename").first.wait_for()


def test_the_redrive_job_of_partitioned_topics_opens_ready_and_runs(shop, page):
    before = known(shop)
    page.goto(f"{shop.url}/locations/{shop.location()}/jobs/shop__masked_redrive")
    page.get_by_role("tab", name="Launchpad").or_(page.get_by_text("Launchpad", exact=True)).first.click()
    page.get_by_text(re.compile("redrive: *true")).first.wait_for()
    page.get_by_role("button", name=re.compile("Launch run", re.IGNORECASE)).first.click()
    shop.wait_for_run("SUCCESS", known=before)
