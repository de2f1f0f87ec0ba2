"""Short histories of what once went wrong, or easily might: each in the pair of source and sink where it would show."""

from typing import Any

from tests.histories.draw import Step
from tests.histories.history import Setting
from tests.histories.model import Ask
from tests.histories.topics import DAY, NANO

NEW = ("run", Ask())
ORDERS = ("shop.orders", 0)
FIRST_DAY = ("run", Ask("time", since=0, until=DAY))
SECOND_DAY = ("run", Ask("time", since=DAY, until=2 * DAY))


def orders(fates: str, *times: int) -> Step:
    """Records of the first partition of orders."""
    return ("append", *ORDERS, fates, times or tuple(range(1, len(fates) + 1)))


def people(fates: str) -> Step:
    """Records of people."""
    return ("append", "shop.people", 0, fates, tuple(range(1, len(fates) + 1)))


TWO_RUNS = [orders("gbg"), NEW, orders("gb"), NEW]
EXPLICIT = Ask("explicit", ranges=((*ORDERS, 1, 3),), key="run 1")

WAYS: dict[str, tuple[Setting, list[Any]]] = {
    "a table begins at the end of a topic that is empty": (
        Setting("kafka", "kafka", "kafka", start="latest"),
        [("create", "shop.orders", 1), NEW, orders("ggg"), NEW],
    ),
    "records come late, after their day was run": (
        Setting("files", "delta records"),
        [orders("gg", 100, 900), FIRST_DAY, orders("ggg", 950, 960, 1100), SECOND_DAY, FIRST_DAY],
    ),
    "a rebuild of all in which a topic fails": (
        Setting("files", "delta records"),
        [orders("gbg"), people("gg"), NEW, ("run", Ask(rebuild=True, tolerance="none")), NEW],
    ),
    "a bronze table is filled later": (
        Setting("bronze", "delta records"),
        [orders("ggg"), ("postpone", *ORDERS, "gbg", (4, 5, 6)), orders("gg"), NEW, ("arrive", *ORDERS), NEW, NEW],
    ),
    "Delta is restored": (Setting("files", "delta columns"), [*TWO_RUNS, ("restore", 1), NEW, NEW]),
    "Delta is restored, and a run is tried again": (
        Setting("files", "delta records"),
        [orders("gb"), NEW, orders("gg"), ("run", Ask(key="run 1")), ("restore", 1), ("run", Ask(key="run 1"))],
    ),
    "Iceberg is rolled back": (Setting("files", "iceberg records"), [*TWO_RUNS, ("restore", 1), NEW, NEW]),
    "Iceberg is rolled back, compacted and expired": (
        Setting("files", "iceberg records"),
        [*TWO_RUNS, ("restore", 1), ("upkeep",), NEW, ("run", Ask(rebuild=True)), orders("g"), NEW],
    ),
    "retention in a partition that was empty": (
        Setting("kafka", "delta records", "kafka"),
        [people("gg"), ("create", "shop.orders", 1), NEW, orders("gggg"), ("expire", *ORDERS, 2), NEW,
         ("run", Ask(accept_gap=True))],
    ),
    "retention in a partition that was added": (
        Setting("kafka", "iceberg columns", "kafka"),
        [orders("gg"), NEW, ("append", "shop.orders", 1, "gggg", (1, 2, 3, 4)), ("expire", "shop.orders", 1, 2), NEW],
    ),
    "a topic that had wholly expired loses more": (
        Setting("kafka", "kafka", "kafka"),
        [people("g"), orders("ggg"), ("expire", *ORDERS, 3), NEW, orders("gggg"), ("expire", *ORDERS, 5), NEW],
    ),
    "two runs at once, with letters in a topic": (
        Setting("files", "delta records"), [orders("gbgx"), ("run", Ask(rival=True)), NEW]
    ),
    "two runs at once, with letters in a table": (
        Setting("files", "iceberg records", "table"), [orders("gbgx"), NEW, orders("xb"), ("run", Ask(rival=True)), NEW]
    ),
    "two runs at once, with letters in a new table": (
        Setting("files", "delta columns", "table"),
        [orders("gbgx"), ("run", Ask(rival=True)), NEW],
    ),
    "two runs at once, from and to a broker": (
        Setting("kafka", "kafka", "kafka"), [orders("gbgx"), ("run", Ask(rival=True)), NEW]
    ),
    "a fixed range again with a mended chain": (
        Setting("files", "delta records"),
        [orders("gbgg"), NEW, ("run", EXPLICIT), ("run", Ask(**{**vars(EXPLICIT), "chain": "mended"})), NEW],
    ),
    "a rebuild again with a mended chain": (
        Setting("files", "delta records"),
        [orders("gbgg"), ("run", Ask(rebuild=True, key="run 1")),
         ("run", Ask(rebuild=True, key="run 1", chain="mended"))],
    ),
    "a topic is made anew and empty": (
        Setting("kafka", "delta records", "kafka"),
        [orders("gg"), people("g"), NEW, ("delete", "shop.orders"), ("create", "shop.orders", 1), NEW,
         ("run", Ask(rebuild=True, topics=("shop.orders",))), orders("g"), NEW],
    ),
    "a topic is made anew and the rows of the old one stay": (
        Setting("files", "delta records"),
        [orders("gbg"), NEW, ("delete", "shop.orders"), orders("gg"), NEW, ("run", Ask(anew=True)), orders("g"), NEW,
         ("run", EXPLICIT)],
    ),
    "timestamps in nanoseconds": (
        Setting("kafka", "delta columns", "kafka"),
        [people("gg"), orders("ggg", 1, NANO, 3), NEW],
    ),
    "topics are copied under their own names": (
        Setting("files", "files", route=False), [orders("gb"), NEW, orders("gg"), NEW]
    ),
    "records of others in the topics": (
        Setting("kafka", "kafka", "kafka"), [orders("gb"), NEW, ("foreign",), orders("gb"), NEW]
    ),
    "records of others in file topics": (
        Setting("files", "files"), [orders("gb"), NEW, ("foreign",), orders("gb"), NEW]
    ),
}  # fmt: skip
"""What happens, where, and the steps."""
