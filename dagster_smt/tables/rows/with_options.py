"""Reads the options in a statement's ``WITH``. It supports options of Flink's Kafka connector and of ksqlDB."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.columns import PUSH_DOWN, Column, Metadata, match_of
from dagster_smt.model.topics.format import DESCRIBED, REGISTERED, WRAPPED
from dagster_smt.tables.rows.statement import Statement

_NOT_DONE = {
    "scan.bounded.mode": "a run is bounded: give window.until or window.explicit in the run config",
    "scan.watermark.alignment.group": "a batch has no watermarks",
    "sink.delivery-guarantee": "topics are written at least once",
    "sink.partitioner": "the brokers' default partitioner places records by their key",
    "sink.parallelism": "set Spark's own options",
    "TIMESTAMP": "a record's timestamp is METADATA FROM 'timestamp'; stages convert fields",
    "PARTITIONS": "give the cluster create=NewTopics(partitions=…)",
    "REPLICAS": "give the cluster create=NewTopics(replication_factor=…)",
    "WINDOW_TYPE": "windowed keys are not read",
}
_NOT_DONE_OF_FORMATS = {
    "ignore-parse-errors": "an unreadable record is a dead letter: set errors_tolerance and dead_letter_topic",
    "fail-on-missing-field": "declare the column NOT NULL",
    "database.include": "declare a column METADATA FROM 'value.database', and drop the others with Filter",
    "table.include": "declare a column METADATA FROM 'value.table', and drop the others with Filter",
}
"""Maps format options that this package does not support to the advice for the user. Flink's default value ``false`` is
accepted.
"""
_DONE_ANYWAY: Mapping[str, tuple[str, ...]] = {
    "sink.delivery-guarantee": ("at-least-once",),
    "sink.partitioner": ("default",),
    "debezium-json.schema-include": ("true", "false"),  # a run reads both; Flink also writes without a schema
    "raw.charset": ("utf-8",),
    "raw.endianness": ("big-endian",),
    "json.map-null-key.mode": ("fail",),
    "json.encode.ignore-null-fields": ("false",),
    "csv.allow-comments": ("false",),
    "avro.timestamp_mapping.legacy": ("true",),
    "properties.enable.auto.commit": ("false",),
    "scan.topic-partition-discovery.interval": (),
}
"""Maps an option of a statement to the values that are accepted and then ignored. Such a value requests what runs
always do.

For example, runs always write records at least once, so ``sink.delivery-guarantee`` may be ``at-least-once``. An empty
tuple accepts any value. The case of values is ignored.
"""
_DELIMITERS = {"SPACE": " ", "TAB": "\t"}
"""Maps the words that ksqlDB uses for delimiters to the delimiters."""
_FORMATS = {
    "json": "json",
    "csv": "csv",
    "delimited": "csv",
    "raw": "bytes",
    "kafka": "bytes",
    "string": "string",
    **{kind: kind for kind in ("debezium-json", "canal-json", *DESCRIBED, *REGISTERED)},
}
# a name in backticks (a backtick inside the name is doubled), or the text up to the next semicolon
_NAME = re.compile(r"\s*`((?:[^`]|``)*)`\s*(?:;|$)|([^;]+)")
_START = {"earliest-offset": "earliest", "latest-offset": "latest"}


@dataclass
class _Options:
    """The options of a statement, while they are converted into arguments of ``TopicTable``.

    Each conversion removes its options. If any option remains at the end, it is not supported, which is an error.
    """

    left: dict[str, str]
    problems: list[Problem] = field(default_factory=list)

    def take(self, *names: str) -> str | None:
        """Removes one option and returns its value: the first of ``names`` that the statement has.

        Returns None if the statement has none of ``names``. The case of ksqlDB's names is ignored.
        """
        for name in names:
            keys = []
            for key in self.left:
                if key == name or (name.isupper() and key.upper() == name):
                    keys.append(key)
            if keys:
                return self.left.pop(keys[0])
        return None

    def left_out(self, known: Mapping[str, tuple[str, ...]]) -> None:
        """Removes the options whose values have no effect. ``known`` maps the name of an option to the values without
        an effect.

        An empty tuple stands for any value. A name matches with or without the prefix ``key.`` or ``value.``.
        """
        for key, value in list(self.left.items()):
            name = key.removeprefix("value.").removeprefix("key.")
            words = known.get(name, known.get(name.upper()))
            if words is not None and (not words or value.lower() in words):
                del self.left[key]

    def below(self, prefix: str) -> dict[str, str]:
        """Returns the options whose names begin with ``prefix``, without the prefix."""
        keys = [key for key in self.left if key.startswith(prefix)]
        options = {}
        for key in keys:
            options[key.removeprefix(prefix)] = self.left.pop(key)
        return options

    def wrong(self, option: str, statement: str, hint: str) -> None:
        """Notes the problem that ``option`` or its value is not supported."""
        self.problems.append(Problem("SMT270", f"WITH '{option}'", statement, hint))

    def chosen(self, option: str, value: str | None, known: Mapping[str, Any]) -> Any:
        """Looks up ``value``, the value of ``option``, in ``known``, and returns the result.

        Returns None if ``value`` is None. If ``known`` does not contain the value, notes a problem and returns None.
        """
        if value is None:
            return None
        choice = known.get(value) or known.get(value.lower())
        if choice is None:
            self.wrong(option, f"'{value}' is not supported", f"there are: {', '.join(known)}")
        return choice


def table_arguments(statement: Statement) -> dict[str, Any]:
    """Converts the columns and options of ``statement`` into a dict with the arguments of ``TopicTable``.

    The dict also contains ``servers`` and ``properties``, the settings of the Kafka cluster.

    Raises:
        ConfigError: SMT270, for each option that is not supported, or that names a column that does not exist.
    """
    options = _Options(dict(statement.options))
    options.left_out(_DONE_ANYWAY)
    options.chosen("connector", options.take("connector"), {"kafka": "kafka"})
    arguments: dict[str, Any] = {"columns": _columns(statement, options)}
    topics = options.take("topic", "KAFKA_TOPIC")
    arguments["topics"] = tuple(part.strip() for part in topics.split(";")) if topics else ()
    arguments["pattern"] = options.take("topic-pattern") or ""
    if topics and arguments["pattern"]:
        options.wrong("topic-pattern", "conflicts with 'topic'", "leave one of them out")
    _formats(options, arguments)
    _key(statement, options, arguments)
    arguments["properties"] = options.below("properties.")
    # before _start(), which removes the option scan.startup.mode
    _offset_reset(arguments["properties"], options)
    arguments.update(primary_key=statement.primary_key, partitioned_by=statement.partitioned_by)
    arguments["servers"] = arguments["properties"].pop("bootstrap.servers", "")
    arguments["push_down"] = _push_down(options)
    arguments["start"] = _start(options, arguments["properties"].pop("group.id", ""))
    for option in options.left:
        of_format = _NOT_DONE_OF_FORMATS.get(option.rpartition(".")[2])
        hint = _NOT_DONE.get(option) or _NOT_DONE.get(option.upper()) or of_format or "leave it out"
        options.wrong(option, "is not supported", hint)
    if options.problems:
        raise ConfigError(options.problems)
    return arguments


def _columns(statement: Statement, options: _Options) -> tuple[Column, ...]:
    """Returns the columns of ``statement``. Options such as ``header.<column>.decode`` add settings to the columns."""
    settings: dict[str, dict[str, str]] = {}
    for key, value in {**options.below("header."), **options.below("headers.")}.items():
        name, _, word = key.rpartition(".")
        settings.setdefault(name, {})[word] = value
    columns = []
    for column in statement.columns:
        columns.append(_with_settings(column, settings.pop(column.name, {}), options))
    for name in settings:
        options.wrong(f"header.{name}", "there is no such column", "name a column of HEADER('…') or HEADERS")
    return tuple(columns)


def _with_settings(column: Column, settings: Mapping[str, str], options: _Options) -> Column:
    source = column.source
    changed: dict[str, Any] = {}
    known = ("duplicates",) if isinstance(source, Metadata) else ("decode", "match", "strict")
    for word, text in settings.items():
        if word not in known or source is None:
            hint = f"there are: {', '.join(known)}"
            options.wrong(f"header.{column.name}.{word}", "is not an option of this column", hint)
        else:
            changed[word] = text.lower() == "true" if word == "strict" else text
    if "match" in changed:
        changed["match"] = match_of(changed["match"])
    if not changed or source is None:
        return column
    return replace(column, source=replace(source, **changed))


def _formats(options: _Options, arguments: dict[str, Any]) -> None:
    # in Flink, the option ``format`` applies only to the value; in ksqlDB, it applies to key and value
    value = options.take("value.format", "format", "VALUE_FORMAT")
    # the line above has taken Flink's `format`, so this is ksqlDB's option, which may have any other case
    both = options.take("FORMAT")
    value, key = value or both, options.take("key.format", "KEY_FORMAT") or both
    for side, option, name in (("value", "value.format", value), ("key", "key.format", key)):
        kind = options.chosen(option, name, _FORMATS)
        if kind is not None:
            arguments[side] = kind
            if kind == "avro":
                _timestamp_mapping(options, (f"{side}.avro.", "avro."), arguments["columns"])
            # as in Flink, an option such as json.x, without key. or value., belongs to the value; value.json.x
            # overrides it
            own = _of_format(options, f"{side}.{kind}.") | _delimiter(options, side, kind)
            own |= _wrapping(options, kind) if side == "value" else {}
            arguments[f"{side}_options"] = {**(_of_format(options, f"{kind}.") if side == "value" else {}), **own}


def _timestamp_mapping(options: _Options, prefixes: Iterable[str], columns: Iterable[Column]) -> None:
    """Removes Flink's option ``timestamp_mapping.legacy`` from ``options`` if its value is ``false``.

    With ``false``, Flink writes ``TIMESTAMP_LTZ`` columns in the same way as this package. But it writes ``TIMESTAMP``
    columns as ``local-timestamp-millis``, which Connect's converter reads as a plain number. So with ``false``, a
    ``TIMESTAMP`` column is a problem.

    Args:
        options: The options of the statement.
        prefixes: The prefixes that the option may have, such as ``value.avro.``.
        columns: The columns of the statement.
    """
    for name in (f"{prefix}timestamp_mapping.legacy" for prefix in prefixes):
        if (options.left.get(name) or "").lower() != "false":
            continue
        if any(_has_local_moment(column.schema) for column in columns if column.source is None):
            hint = "declare the column TIMESTAMP_LTZ(3), or BIGINT if its values are read as they are"
            options.wrong(
                name, "writes a TIMESTAMP as local-timestamp-millis, which is a plain number to Connect", hint
            )
        del options.left[name]


def _has_local_moment(schema: Schema) -> bool:
    local = schema.logical == "Timestamp" and not schema.zoned
    return local or any(map(_has_local_moment, schema.children))


def _delimiter(options: _Options, side: str, kind: str) -> dict[str, str]:
    """Converts ksqlDB's option for the delimiter of the format ``DELIMITED`` into an option of this package."""
    option = f"{side.upper()}_DELIMITER"
    if kind != "csv" or (delimiter := options.take(option)) is None:
        return {}
    return {"field-delimiter": _DELIMITERS.get(delimiter.upper(), delimiter)}


def _wrapping(options: _Options, kind: str) -> dict[str, str]:
    """Converts ksqlDB's option ``WRAP_SINGLE_VALUE`` into an option of the format ``kind``.

    With ``false``, the only column is the whole value, such as ``7``. Otherwise, the only column is a field, such as
    ``{"id": 7}``, and the result is an empty dict.
    """
    word = (options.take("WRAP_SINGLE_VALUE") or "").lower()
    if word not in ("", "true", "false"):
        options.wrong("WRAP_SINGLE_VALUE", "is neither true nor false", "use one of them")
    if word == "true" and kind in ("bytes", "string", "csv"):
        options.wrong("WRAP_SINGLE_VALUE", "the format has no fields with names, so it cannot be true", "leave it out")
    if word != "false" or kind in ("bytes", "string", "csv"):
        return {}
    if kind not in ("json", "avro", "avro-confluent"):
        options.wrong(
            "WRAP_SINGLE_VALUE", f"{kind} has no values without fields, so it cannot be false", "leave it out"
        )
        return {}
    return {WRAPPED: "false"}


def _of_format(options: _Options, prefix: str) -> dict[str, str]:
    """Returns the options whose names begin with ``prefix``, without the prefix. These are the options of one format.
    Notes a problem for each option that is not supported.
    """
    for word, hint in _NOT_DONE_OF_FORMATS.items():
        if (options.take(prefix + word) or "false").lower() != "false":
            options.wrong(prefix + word, "is not supported", hint)
    return options.below(prefix)


def _key(statement: Statement, options: _Options, arguments: dict[str, Any]) -> None:
    arguments["key_fields"] = _names(options.take("key.fields") or "", options)
    include = arguments["value_fields_include"] = (options.take("value.fields-include") or "ALL").upper()
    if include == "EXCEPT_KEY" and not arguments["key_fields"]:
        options.wrong("value.fields-include", "has no effect without key.fields", "name key.fields, or leave it out")
    if statement.keys:
        arguments["key_fields"] = (*arguments["key_fields"], *statement.keys)
        arguments["value_fields_include"] = "EXCEPT_KEY"
        if "key" not in arguments:  # ksqlDB uses the format kafka for a KEY column if KEY_FORMAT is missing
            arguments |= {"key": _FORMATS["kafka"], "key_options": {}}
    arguments["key_fields_prefix"] = options.take("key.fields-prefix") or ""
    verify = (options.take("fields.verify-integrity") or "false").lower()
    arguments["fields_verify_integrity"] = {"true": True, "false": False}.get(verify, verify)


def _names(text: str, options: _Options) -> tuple[str, ...]:
    """Parses the names in ``text``, the value of ``key.fields``. The names are separated by semicolons, and names with
    unusual characters are in backticks.
    """
    names = []
    for part in _NAME.finditer(text):
        quoted, plain = part[1], (part[2] or "").strip()
        if quoted is not None:
            names.append(quoted.replace("``", "`"))
        elif plain.startswith("`"):
            hint = "close it, with a semicolon or nothing after it; a backtick inside of a name is doubled"
            options.wrong("key.fields", "a name in backticks does not end", hint)
        elif plain:
            names.append(plain)
    return tuple(names)


def _push_down(options: _Options) -> str:
    choice = options.chosen("scan.push-down", options.take("scan.push-down"), {word: word for word in PUSH_DOWN})
    return str(choice or "off")


def _offset_reset(properties: dict[str, str], options: _Options) -> None:
    """Removes the client option ``auto.offset.reset`` from ``properties``, because ``scan.startup.mode`` determines
    where reading starts.

    The option stays only if ``scan.startup.mode`` is ``group-offsets``.
    """
    # here the option would have an effect, which runs do not support, so KafkaTopics rejects it (SMT580)
    if options.left.get("scan.startup.mode") == "group-offsets":
        return
    properties.pop("auto.offset.reset", None)


def _start(options: _Options, group: str) -> str:
    mode = options.take("scan.startup.mode")
    millis = options.take("scan.startup.timestamp-millis")
    if millis and mode != "timestamp":
        hint = "set scan.startup.mode to timestamp, or leave it out"
        options.wrong("scan.startup.timestamp-millis", "has no effect without scan.startup.mode = timestamp", hint)
    if mode == "timestamp" and millis:
        return millis
    if mode == "group-offsets" and group:
        return f"group:{group}"
    if mode in ("timestamp", "group-offsets"):
        if mode == "timestamp":
            option = "scan.startup.timestamp-millis"
        else:
            option = "properties.group.id"
        options.wrong("scan.startup.mode", f"needs {option}", f"set {option}")
    elif mode == "specific-offsets":
        options.wrong(
            "scan.startup.mode",
            "only a run config can set 'specific-offsets'",
            "give window.explicit in the run config",
        )
    elif mode is not None:
        return str(options.chosen("scan.startup.mode", mode, _START) or "earliest")
    return "earliest"
