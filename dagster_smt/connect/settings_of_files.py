"""Derives settings from the options of file sinks. The settings concern partitions by field and by time, the size and
age of files, and records without values.
"""

import re

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.settings import ExtraStage, TableSettings, every, names_in, number

_KAFKA = "org.apache.kafka.connect.transforms."
_PARTS = "no such partitioning is made: choose partition_by of the sink"
_UNITS = (("hour", "Hhkms"), ("day", "dDwEeF"), ("month", "M"), ("year", "yYx"))
"""Maps units of time to their letters in Joda's patterns: ``d`` belongs to ``day``. The letters of minutes and seconds
belong to ``hour``.
"""
_OF_AIVEN = {"yyyy": "year", "MM": "month", "dd": "day", "HH": "hour"}
_OF_TIME = ("path.format", "timestamp.extractor", "timestamp.field", "timezone", "locale", "partition.duration.ms")
_QUOTED = re.compile(r"'[^']*'")
_PLACEHOLDER = re.compile(r"\{\{\s*([a-z_]+)\s*(?::([^}]*))?\}\}")


def files_settings(connector: Connector) -> TableSettings:
    """Returns the settings for ``connector``, a sink that writes files to S3, to Google's or Azure's storage, or to
    HDFS.
    """
    settings = TableSettings()
    _partitions(connector, settings)
    _template(connector, settings)
    _pace(connector, settings)
    nulls(connector, settings)
    return settings


def _partitions(connector: Connector, settings: TableSettings) -> None:
    config = connector.config
    class_ = config.get("partitioner.class", "").strip().rsplit(".", 1)[-1].rsplit("$", 1)[-1]
    if class_ in ("TimeBasedPartitioner", "DailyPartitioner", "HourlyPartitioner"):
        _by_time(connector, settings, class_)
    elif class_ == "FieldPartitioner" and names_in(config.get("partition.field.name", "")):
        settings.set("partition.field.name", "partition_by", names_in(config["partition.field.name"]))
        settings.say("partitioner.class", "used", "sink.partition_by")
        settings.of_columns["partition_by"].append("partitioner.class")
    elif class_ in ("", "DefaultPartitioner"):
        if class_:
            settings.say("partitioner.class", "not needed", "the source columns name the partition of each row")
        for option in (*_OF_TIME, "partition.field.name"):
            if option in config and "time.interval" not in config:
                settings.say(option, "not needed", "the connector's partitioner ignores the option")
    else:
        settings.say("partitioner.class", "not done", _PARTS)
    interval = config.get("time.interval", "").strip().lower()
    if interval in ("hourly", "daily"):
        settings.record_time = {"hourly": "hour", "daily": "day"}[interval]
        settings.say("time.interval", "used", "sink.partition_by: the record's time")


def _by_time(connector: Connector, settings: TableSettings, class_: str) -> None:
    config = connector.config
    unit = {"DailyPartitioner": "day", "HourlyPartitioner": "hour"}.get(class_) or _unit(config.get("path.format", ""))
    if not unit:
        settings.say("partitioner.class", "not done", _PARTS)
        return
    # a short name such as Record, or a nested class: ….TimeBasedPartitioner$RecordTimestampExtractor
    extractor = config.get("timestamp.extractor", "Wallclock").strip().rsplit(".", 1)[-1].rsplit("$", 1)[-1]
    extractor = extractor.removesuffix("TimestampExtractor")
    settings.say("partitioner.class", "used", "sink.partition_by")
    for option, text in (
        ("path.format", f"sink.partition_by: the unit is the {unit}"),
        ("timestamp.extractor", "sink.partition_by"),
        ("timestamp.field", "sink.partition_by"),
    ):
        if option in config:
            settings.say(option, "used", text)
    if extractor == "RecordField":
        field = config.get("timestamp.field", "timestamp").strip()
        note = "the column must be a TIMESTAMP or DATE; a TimestampConverter stage makes one from a number or string"
        settings.set("timestamp.field", "partition_by", [f"{unit}({field})"], note=note)
        settings.of_columns["partition_by"] += ["partitioner.class", "path.format", "timestamp.extractor"]
    elif extractor in ("Record", "Wallclock", "Default"):
        settings.record_time = unit
        if extractor != "Record":
            text = "partitions are by the record's time; the connector took the time at which it wrote"
            option = "timestamp.extractor" if "timestamp.extractor" in config else "partitioner.class"
            settings.say(option, "changed", text)
        if "timestamp.field" in config:
            settings.say("timestamp.field", "not needed", "the connector's timestamp.extractor ignores the option")
    else:
        settings.say("timestamp.extractor", "not done", "the extractor is unknown: choose partition_by of the sink")
    _zone(connector, settings, "timezone")
    if "locale" in config:
        settings.say("locale", "not needed", "the names of partitions have no words")
    if "partition.duration.ms" in config:
        settings.say("partition.duration.ms", "changed", f"partitions have one {unit} each")


def _zone(connector: Connector, settings: TableSettings, option: str) -> None:
    zone = connector.config.get(option, "").strip()
    if zone.upper() in ("UTC", "GMT", "ETC/UTC", "Z"):
        settings.say(option, "used", "partitions are in UTC")
    elif zone:
        settings.say(option, "changed", "partitions begin at midnight UTC")


def _unit(pattern: str) -> str:
    """Returns the shortest unit of time in ``pattern``: for ``'year'=YYYY/'month'=MM``, the unit is ``month``. If there
    is no unit, returns an empty string.
    """
    # text in quotes is copied as it is, so its letters stand for no unit
    letters = set(_QUOTED.sub("", pattern))
    for unit, own in _UNITS:
        if letters & set(own):
            return unit
    return ""


def _template(connector: Connector, settings: TableSettings) -> None:
    """Derives the table's partitioning from the folders in Aiven's ``file.name.template``. For
    ``{{topic}}/{{timestamp:unit=yyyy}}/{{partition}}``, the table is partitioned by year.
    """
    template = connector.config.get("file.name.template", "").strip()
    if not template:
        return
    places = _PLACEHOLDER.findall(template)
    units = []
    for name, parameters in places:
        if name == "timestamp":
            units.append(_OF_AIVEN.get(parameters.partition("unit=")[2].strip(), ""))
    if any(name == "key" for name, _ in places) or "" in units:
        settings.say("file.name.template", "not done", _PARTS)
        return
    order = [unit for unit, _ in _UNITS]
    if units:
        settings.record_time = min(units, key=order.index)
        text = "sink.partition_by: the record's time; the template took the time of writing, unless it says EVENT"
        settings.say("file.name.template", "changed", text)
    else:
        settings.say("file.name.template", "not needed", "the source columns name topic, partition and offset")
    _zone(connector, settings, "file.name.timestamp.timezone")
    if "file.name.timestamp.source" in connector.config:
        settings.say("file.name.timestamp.source", "changed", "partitions are by the record's time")


def _pace(connector: Connector, settings: TableSettings) -> None:
    config = connector.config
    size = ""
    for n in ("flush.size", "file.max.records"):
        if number(config.get(n, "")) > 0:
            size = n
            break
    if size:
        settings.attributes["lag_sensor"] = {"min_records": int(number(config[size]))}
        settings.say(size, "used", "lag_sensor.min_records; the sensor is off until you switch it on")
    elif "flush.size" in config:
        settings.say("flush.size", "not needed", "runs write all new records")
    ages = []
    for option in ("rotate.interval.ms", "rotate.schedule.interval.ms"):
        if option not in config:
            continue
        seconds = number(config[option]) / 1000
        if seconds <= 0:
            settings.say(option, "not needed", "the option is switched off")
        elif size:
            ages.append(seconds)
            settings.say(option, "used", "lag_sensor.max_age_seconds")
        else:
            every(option, seconds, settings)
    if ages:
        settings.attributes["lag_sensor"]["max_age_seconds"] = min(ages)


def nulls(connector: Connector, settings: TableSettings) -> None:
    """Sets in ``settings`` the treatment of records whose value is null."""
    option = "behavior.on.null.values"
    behaviour = connector.config.get(option, "").strip().lower()
    if behaviour == "ignore":
        filter_ = ExtraStage("noValue", {"type": f"{_KAFKA}Filter"}, f"{_KAFKA}predicates.RecordIsTombstone")
        settings.stages.append(filter_)
        settings.say(option, "changed", "a Filter stage at the end of the chain drops records without a value")
    elif behaviour == "fail":
        settings.say(option, "used", "a record without a value fails, as errors_tolerance says")
    elif behaviour:
        settings.say(option, "not done", "a record without a value is no row: a Filter stage drops such records")
