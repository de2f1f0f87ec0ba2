"""Progress as the commits of a consumer group: what is left of it when a broker deletes a part."""

from dagster_smt.model.topics.state import CommittedRun, TableState
from dagster_smt.model.windows.offsets import OffsetSet
from dagster_smt.tables.kafka.progress import COPIES, from_commits, to_commits


def state(topics: int) -> TableState:
    held = OffsetSet({(f"topic-{number:02}", partition): ((0, 5),) for number in range(topics) for partition in (0, 1)})
    return TableState(3, "attempt", "records", held=held, runs=(CommittedRun("run", "request", 3, None, ()),))


def test_it_comes_back_whole():
    assert from_commits(to_commits(state(3))) == state(3)


def test_runs_outlive_every_topic_but_the_last():
    """Brokers delete the commits of a topic that is deleted."""
    for survivor in ("topic-00", "topic-01", "topic-02"):
        commits = {place: c for place, c in to_commits(state(3)).items() if place[0] == survivor}
        rest = from_commits(commits)
        assert rest is not None
        assert rest.runs == state(3).runs
        assert {place[0] for place in rest.held.parts} == {survivor}


def test_many_topics_hold_few_copies():
    commits = to_commits(state(COPIES + 5))
    assert sum('"u":' in committed.metadata for committed in commits.values()) == COPIES
    assert from_commits(commits) == state(COPIES + 5)


def test_partitions_that_hold_nothing_are_committed_where_they_begin():
    """A group that begins at the end of an empty topic must not look there again."""
    begins = {("orders", 0): 0, ("orders", 1): 100}
    begun = TableState(1, "attempt", "records", begins=begins)
    commits = to_commits(begun)
    assert {place: committed.offset for place, committed in commits.items()} == begins
    assert from_commits(commits) == begun
