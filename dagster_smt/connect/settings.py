"""Derives the settings of a component from the options of a sink connector. The settings concern the rows of the table,
its layout, and the schedule.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.connect.connectors import Connector, names_in
from dagster_smt.connect.option_rules import OptionOutcome, OptionVerdict

ONE_TABLE = "one component writes one table: import the connector once for each of them"
KEYLESS = "rows are added for each record: none is replaced or deleted by key (mode: upsert of the sink does it)"
RECORD_TIME = "_record_time"
"""The name of a column with the time of a record. The column is added to a table that is partitioned by this time, for
example by day, and that has one column for each field of the value.
"""
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class ExtraStage:
    """A stage that a component adds after the transforms of the connector.

    Attributes:
        alias: The preferred alias; if it is taken, underscores are added.
        options: The options of the transform, with ``type``.
        predicate: The class of the stage's predicate; empty if there is none.
    """

    alias: str
    options: dict[str, str]
    predicate: str = ""


@dataclass
class TableSettings:
    """The settings of a component that writes a table.

    Attributes:
        sink: The options of the component's sink, without the location and the kind of the table.
        table: The name of the table in its folder. If empty, the connector's name is used.
        stages: The stages after the connector's transforms.
        attributes: Attributes of the component: ``schedule``, ``lag_sensor``.
        record_time: The unit, such as ``day``, if the table is partitioned by the time of its records; else empty.
        of_columns: The sink options that need a table of columns, such as ``mode``. Maps each such sink option to the
            connector's options from which it is derived.
        key_fields: True if the key columns are the fields of the record's key.
        options: A verdict on each option that these settings cover.
    """

    sink: dict[str, Any] = field(default_factory=dict)
    table: str = ""
    stages: list[ExtraStage] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    record_time: str = ""
    of_columns: dict[str, list[str]] = field(default_factory=dict)
    options: list[OptionVerdict] = field(default_factory=list)

    @property
    def many_tables(self) -> bool:
        """True if each topic has its own table."""
        return "{topic}" in self.table

    @property
    def key_fields(self) -> bool:
        return self.sink.get("mode") == "upsert" and self.sink.get("keys", "record_key") == "record_key"

    def say(self, option: str, verdict: OptionOutcome, text: str) -> None:
        """Adds a verdict on ``option``. The new verdict replaces an earlier verdict on the same option."""
        self.options = [v for v in self.options if v.option != option]
        self.options.append(OptionVerdict(option, verdict, text))

    def set(self, option: str, name: str, value: Any, verdict: OptionOutcome = "used", note: str = "") -> None:
        """Sets an option of the sink, and adds a verdict on the connector's option from which it comes. Use this method
        only for sink options that require a table of kind ``columns``, such as ``mode``.

        Args:
            option: The option of the connector.
            name: The option of the sink.
            value: The value of the sink's option.
            verdict: The verdict on the connector's option.
            note: A remark for the text of the verdict.
        """
        self.sink[name] = value
        self.of_columns.setdefault(name, []).append(option)
        self.say(option, verdict, f"sink.{name}" + (f": {note}" if note else ""))

    def take_back(self, name: str, reason: str) -> None:
        """Removes the option ``name`` of the sink again. The connector's options that had set it get the verdict "not
        done", with the text ``reason``.
        """
        if name not in self.sink:
            return
        del self.sink[name]
        for option in self.of_columns.get(name, ()):
            self.say(option, "not done", reason)


def is_true(connector: Connector, option: str, default: str = "false") -> bool:
    """Returns True if ``option`` of ``connector`` is ``true``."""
    return connector.config.get(option, default).strip().lower() == "true"


def safe_name(name: str) -> str:
    """Returns ``name`` in a form that is safe as the name of a folder under the lake."""
    # without the dots at the ends, a table called ../../x stays in the lake
    return _UNSAFE.sub("_", name).strip("._") or "table"


def safe_part(text: str) -> str:
    """Returns ``text`` in a form that is safe as a part of a folder's name."""
    return _UNSAFE.sub("_", text)


def mapped_table(connector: Connector, settings: TableSettings, option: str, separator: str = ":") -> None:
    """Sets the table's name from ``option``, whose value maps topics to tables, such as ``orders:o``. Only one table is
    supported.
    """
    text = connector.config.get(option, "").strip()
    if not text:
        return
    tables = {}
    for entry in names_in(text):
        topic, _, table = entry.rpartition(separator)
        tables[topic.strip()] = table.strip()
    topics = connector.topics
    if len(topics) == 1 and tables.get(topics[0]):
        settings.table = safe_name(tables[topics[0]])
        settings.say(option, "used", "the name of the table")
    else:
        settings.say(option, "not done", ONE_TABLE)


def every(option: str, seconds: float, settings: TableSettings) -> None:
    """Makes runs start every ``seconds`` seconds, the interval at which the connector commits. For an interval of a
    minute or more, the component gets a schedule, and for a shorter interval a sensor. If ``seconds`` is 0, the
    connector's option is switched off, and nothing is set.
    """
    if seconds <= 0:
        settings.say(option, "not needed", "the option is switched off")
        return
    # the shortest interval of a cron schedule is a minute
    if seconds < _MINUTE:
        sensor = settings.attributes.setdefault("lag_sensor", {"min_records": 1})
        sensor["minimum_interval_seconds"] = max(1, round(seconds))
        settings.say(option, "used", "lag_sensor.minimum_interval_seconds")
        return
    settings.attributes["schedule"] = cron_of(seconds)
    settings.say(option, "used", f"schedule: {cron_of(seconds)}; it is off until you switch it on")


def cron_of(seconds: float) -> str:
    """Returns the cron schedule for an interval of ``seconds``. An interval that does not divide the hour or the day
    evenly is shortened: 25 minutes become 20 minutes, and 7 hours become 6 hours.
    """
    # Cron counts anew in each hour: */25 means the minutes 0, 25 and 50, and then 10 minutes until the next run.
    minutes = int(seconds // _MINUTE)
    if seconds < _HOUR:
        step = max(n for n in (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30) if n <= minutes)
        return f"*/{step} * * * *"
    divisors = []
    for n in (1, 2, 3, 4, 6, 8, 12, 24):
        if n <= max(1, minutes // 60):
            divisors.append(n)
    hours = max(divisors)
    if hours == 24:
        return "0 0 * * *"
    if hours == 1:
        return "0 * * * *"
    return f"0 */{hours} * * *"


def number(text: str) -> float:
    """Returns the number in ``text``, the value of an option. Returns -1 if ``text`` is not a number, as if the option
    were switched off.
    """
    try:
        return float(text.strip())
    except ValueError:
        return -1
