"""Defines the intended differences from the vendors' own classes, such as Debezium's, and switches them off where
possible.

Each rule names the transform, the result of the vendor's class, and the result of this package. Some records make the
vendor's class crash. For such a record, a rule changes the record or the chain so that the class would not crash. The
results must then be equal.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain.plan import fold_chain
from dagster_smt.errors import ConfigError, DataError, UnsupportedError
from dagster_smt.model.cell import Group
from dagster_smt.model.schema import Schema
from dagster_smt.tools.parity.compare import canonical_record, kind_of_result
from dagster_smt.tools.parity.datums import Converter, case_chain, run_case
from dagster_smt.transforms.debezium.by_logical_table_router import ByLogicalTableRouter
from dagster_smt.transforms.debezium.event_router import EventRouter
from dagster_smt.transforms.debezium.outbox.json_payload import ExpandJson
from dagster_smt.values.times.zones import is_zone

Case = dict[str, Any]
Result = dict[str, Any]
_NPE = "java.lang.NullPointerException"
_DATA = "org.apache.kafka.connect.errors."


def type_of(case: Case, alias: str) -> str:
    """Returns the short class name of the stage with the alias ``alias``, such as ``EventRouter``."""
    return str(case["config"].get(f"transforms.{alias}.type", "")).strip().rsplit(".", 1)[-1].split("$")[0]


def _options(case: Case, name: str) -> Iterator[tuple[str, str]]:
    """Yields each option of ``case`` with the name ``name``, as a pair such as
    ``("transforms.tz.include.list", "orders")``.
    """
    for key, value in case["config"].items():
        if key.startswith("transforms.") and key.endswith(f".{name}") and value is not None:
            yield key, str(value)


def _configured(case: Case, changes: Mapping[str, str | None]) -> Case:
    """Returns ``case`` with the options in ``changes`` set, or removed if their value is None."""
    config = {**case["config"], **changes}
    options = {}
    for key, value in config.items():
        if value is not None:
            options[key] = value
    return {**case, "config": options}


# D1: options


_ADJUSTMENTS = ("none", "avro", "avro_unicode")


def without_ignored_values(case: Case) -> Case | None:
    """D1 (an option is ignored): returns ``case`` (chain, records and Kafka's results) without the option values that
    the vendors' classes ignore. Returns None if there are none.
    """
    changes: dict[str, str | None] = {}
    for key, value in _options(case, "field.name.adjustment.mode"):
        known = value.strip().lower() in _ADJUSTMENTS
        if not known and type_of(case, key.split(".")[1]) == "EventRouter":
            changes[key] = None
    for key, value in _options(case, "table.fields.additional.placement"):
        # Debezium ignores a comma at the end, and this package rejects it
        if value.rstrip(" ,") != value:
            changes[key] = value.rstrip(" ,") or None
    if changes:
        return _configured(case, changes)
    return None


_REFUSED_LISTS = re.compile(r"Invalid (include|exclude) list format|value is invalid: .* regular expressions")


def takes_more(case: Case, answer: Result) -> bool:
    """D1 (a list is rejected because of a character): returns True if Debezium's TimezoneConverter rejects a list only
    because names in the list contain unusual characters. Our TimezoneConverter accepts these characters.

    The function replaces each such name by a plain name, in the list and in the records' topics, and runs the case
    again. The results must then be the same.
    """
    message = str(case["expect"]["configError"].get("message"))
    if not _REFUSED_LISTS.search(message):
        return False
    lists: list[tuple[str, str]] = []
    for name in ("include.list", "exclude.list"):
        lists.extend(_options(case, name))
    names = set()
    for _, value in lists:
        for item in value.split(","):
            names.update(item.strip().split(":"))
    odd = {}
    for number, name in enumerate(sorted(names)):
        if re.search(r"[^\w.\s]", name):
            odd[name] = f"odd{number}"
    plain = _renamed(case, odd, [key for key, _ in lists])
    try:
        expected = run_case(plain, case_chain(plain))["results"]
    except ConfigError:
        return False
    got = [_renamed_back(result, odd) for result in expected]
    # the answer may come from Spark, which keeps no schema for a null
    return _same_records(got, answer["results"]) or _same_records(*map(_without_schemas, (got, answer["results"])))


def _renamed(case: Case, odd: Mapping[str, str], keys: list[str]) -> Case:
    def name(text: str) -> str:
        return odd.get(text, text)

    def listed(value: str) -> str:
        pairs = []
        for item in value.split(","):
            pairs.append(":".join(map(name, item.strip().split(":"))))
        return ",".join(pairs)

    changes: dict[str, str | None] = {}
    for key in keys:
        changes[key] = listed(case["config"][key])
    records = []
    for record in case["records"]:
        records.append({**record, "topic": name(record["topic"])})
    return {**_configured(case, changes), "records": records}


def _renamed_back(result: Result, odd: Mapping[str, str]) -> Result:
    back = {}
    for old, new in odd.items():
        back[new] = old
    if "record" not in result:
        return result
    topic = result["record"]["topic"]
    return {"record": {**result["record"], "topic": back.get(topic, topic)}}


def _without_schemas(results: list[Result]) -> list[Result]:
    """Returns ``results`` as Spark returns them: each null key or value loses its schema (the intended
    difference D6).
    """
    without_schemas = []
    for result in results:
        without_schemas.append({"record": _nulls(result["record"])} if "record" in result else result)
    return without_schemas


def _nulls(record: Result) -> Result:
    envelopes = {}
    for side in ("key", "value"):
        if "envelope" in (record[side] or {}):
            envelopes[side] = record[side]["envelope"]
    null = []
    for side, text in envelopes.items():
        if json.loads(text)["payload"] is None:
            null.append(side)
    return {**record, **dict.fromkeys(null)}


def _same_records(want: list[Result], got: list[Result]) -> bool:
    pairs = list(zip(want, got, strict=True))
    return all(kind_of_result(w) == kind_of_result(g) for w, g in pairs) and all(
        canonical_record(w["record"]) == canonical_record(g["record"]) for w, g in pairs if "record" in w
    )


_NO_ZONE = re.compile(r"java\.time\.(zone\.ZoneRulesException|DateTimeException)")
UNKNOWN_ZONE = "SMT014"


_NO_RULE = "nothing:nothing"
"""A rule about a topic or table that no case contains, and which therefore has no effect."""


def _is_rule(item: str) -> bool:
    """Returns True if ``item`` has the form of a rule of Debezium's TimezoneConverter. A rule is a table or topic, such
    as ``orders``, and optionally a field after a colon, as in ``orders:time``. The prefix ``source:`` or ``topic:`` may
    come first, as in ``topic:orders:time``.
    """
    parts = item.strip().split(":")
    # the prefix does not count: True is 1
    return len(parts) - (parts[0].lower() in ("source", "topic")) <= 2


def _known_zone(zone: str) -> str:
    """Returns ``zone``, or a replacement if this machine does not have the time zone. Java has some additional zones,
    each with a fixed offset.
    """
    # ``SystemV/EST5`` is five hours behind UTC
    hours = re.fullmatch(r"SystemV/[A-Z]{2,3}(\d+)", zone)
    if hours is not None:
        return f"-{int(hours[1]):02}:00"
    if is_zone(zone):
        return zone
    return "UTC"


def refused_at_once(case: Case, problem: Mapping[str, Any], is_right: Callable[[Case], bool]) -> bool:
    """D1 (an option is rejected late): returns True if this package rejects a TimezoneConverter at once, because its
    options contain a wrong time zone or rule. Debezium's TimezoneConverter fails later, and only for records that need
    this zone or rule.

    The function runs the case with a valid zone and without the wrong rule. All records that Debezium does not reject
    must then have Debezium's results.
    """
    if problem["code"] not in ("SMT011", "SMT013", UNKNOWN_ZONE):
        return False
    changes: dict[str, str | None] = {}
    for key, value in _options(case, "converted.timezone"):
        changes[key] = _known_zone(value.strip())
    for name in ("include.list", "exclude.list"):
        for key, value in _options(case, name):
            rules = []
            for item in value.split(","):
                rules.append(item if _is_rule(item) else _NO_RULE)
            changes[key] = ",".join(rules)
    if not changes:
        return False
    other = _configured(case, changes)
    pairs = list(zip(case["records"], case["expect"]["results"], strict=True))
    passing = []
    for r, e in pairs:
        if not _NO_ZONE.search(e.get("error", {"class": ""})["class"]):
            passing.append((r, e))
    expect = {"results": [result for _, result in passing]}
    return is_right({**other, "records": [record for record, _ in passing], "expect": expect})


# D2: crashes


@dataclass(frozen=True)
class Crash:
    """An error with which a vendor's class fails on a record that this package can process.

    Attributes:
        transform: The short name of the class, such as ``EventRouter``.
        error: The class of the exception.
        text: A regular expression for the message of the exception.
        change: Takes the case and the stage's alias. Returns the case with a change that avoids the error; None if
            there is nothing to change. After the change, the vendor's class and this package must have the same
            results.
    """

    transform: str
    error: str
    text: str
    change: Callable[[Case, str], Case | None]


def _as_source(case: Case, alias: str) -> Case:
    """Returns ``case`` with each record marked as one of a source connector. Only such a record may lack a
    partition.
    """
    return {**case, "records": [{**record, "kind": "source"} for record in case["records"]]}


def _texts_stay(case: Case, alias: str) -> Case:
    """Returns ``case`` with one change: the router with the alias ``alias`` leaves JSON strings as they are, and does
    not turn them into structs.
    """
    return _configured(case, {f"transforms.{alias}.table.expand.json.payload": "false"})


def _named_in_capitals(case: Case, alias: str) -> Case | None:
    """Returns ``case`` with the column names in the router's options in capital letters, if the records have such
    columns. Returns None if there is nothing to change.
    """
    changes: dict[str, str | None] = {}
    for name in ("id", "aggregateid", "payload", "aggregatetype"):
        option = {"id": "table.field.event.id", "aggregateid": "table.field.event.key"}.get(name)
        option = option or {"payload": "table.field.event.payload"}.get(name, "route.by.field")
        key = f"transforms.{alias}.{option}"
        if key not in case["config"] and f'"field":"{name.upper()}"' in str(case["records"]):
            changes[key] = name.upper()
    if changes:
        return _configured(case, changes)
    return None


def _empty_source(case: Case, alias: str) -> Case | None:
    """Returns ``case`` with events whose ``source`` has no field ``table``, because the field is renamed."""
    records = []
    for record in case["records"]:
        records.append({**record, "value": _with_text(record["value"], _TABLE, _OTHER_TABLE)})
    return {**case, "records": records}


_TABLE, _OTHER_TABLE = '"field":"table"', '"field":"another table"'


def _with_text(datum: Any, old: str, new: str) -> Any:
    """Returns ``datum`` with ``new`` in place of each occurrence of ``old`` in the text of its envelope. A datum
    without an envelope is returned unchanged.
    """
    if not datum or "envelope" not in datum:
        return datum
    return {"envelope": datum["envelope"].replace(old, new)}


CRASHES = (
    Crash("EventRouter", _NPE, r"kafkaPartition|intValue\(\)", _as_source),
    Crash("EventRouter", _NPE, r'hashCode\(\)" because "key" is null', _texts_stay),
    Crash("EventRouter", f"{_DATA}DataException", r"with type STRUCT: class java\.lang\.String", _texts_stay),
    Crash("EventRouter", f"{_DATA}DataException", r"with type ARRAY: class java\.lang\.String", _texts_stay),
    Crash("EventRouter", f"{_DATA}ConnectException", r"Unable to find payload field payload", _named_in_capitals),
    Crash("EventRouter", f"{_DATA}DataException", r"^(id|aggregateid|aggregatetype) is not", _named_in_capitals),
    Crash("TimezoneConverter", _NPE, r'Struct\.getString\(String\)" because "source" is null', _empty_source),
)


def uncrashed(case: Case, number: int, want: Result) -> Iterator[Result]:
    """Yields the correct results for the record ``number``, if Kafka's result ``want`` is a known crash of a vendor's
    class. The results come from this package, with a change that avoids the crash.
    """
    if "error" not in want:
        return
    error = want["error"]
    for crash in CRASHES:
        known = crash.transform == type_of(case, error["stage"]) and crash.error == error["class"]
        if not known or not re.search(crash.text, error["message"] or ""):
            continue
        changed = crash.change(case, error["stage"])
        if changed is None:
            continue
        with suppress(ConfigError):
            result = run_case(changed, case_chain(changed))["results"][number]
            if "record" in result:
                # these two lines undo the changes of _as_source and _empty_source
                result["record"]["kind"] = case["records"][number]["kind"]
                result["record"]["value"] = _with_text(result["record"]["value"], _OTHER_TABLE, _TABLE)
            yield result


# D2: values that are lost


class _LossyJson(ExpandJson):
    """Expands JSON as Debezium's routers do, with two defects that lose values:

    - The class changes field names to valid names, and then searches the JSON for the changed names.
    - If several objects of an array have the same field, only the last of these objects determines the field's schema.
      Inner fields that only the other objects have are lost.
    """

    def _struct(self, value: dict[str, Any], schema: Schema) -> dict[str, Any]:
        members = {}
        for name, child in schema.fields:
            members[name] = self._value(value.get(name), child)
        return members

    def _items(self, key: str | None, items: list[Any]) -> Schema:
        whole = super()._items(key, items)
        objects = [item for item in items if isinstance(item, dict)]
        if not objects:
            return whole
        fields: dict[str, Schema] = {}
        for item in objects:
            fields |= self._fields(key, item)
        return whole.with_(fields=tuple(fields.items()))


class _LossyRouter(EventRouter):
    def _json(self, name: str) -> ExpandJson:
        rule = super()._json(name)
        return _LossyJson(rule.name, rule.nulls, rule.mode)


def loses(case: Case) -> Case | None:
    """D2 (the original loses a value): returns ``case`` (chain, records and Kafka's results) marked to run with
    Debezium's routers, which lose values when they expand JSON. Returns None if the case does not expand JSON.
    """
    expands = any(value.strip().lower() == "true" for _, value in _options(case, "table.expand.json.payload"))
    if expands:
        return {"lossy": True, **case}
    return None


def with_losses(chain: Chain) -> Chain:
    """Returns ``chain`` with routers that have the same defect as Debezium's: they lose values when they turn JSON into
    structs.
    """
    return exchanged(chain, EventRouter, lambda: _LossyRouter)


def exchanged(chain: Chain, old: type[Transform], new: Callable[[], type[Transform]]) -> Chain:
    """Returns ``chain`` with a transform from ``new`` in place of each transform of the class ``old``. The options stay
    the same.
    """
    stages = []
    for stage in chain.stages:
        if type(stage.transform) is old:
            transform = stage.transform.model_copy()
            # a frozen model rejects an ordinary assignment; the new class keeps the parsed options
            object.__setattr__(transform, "__class__", new())
            stage = replace(stage, transform=transform)
        stages.append(stage)
    return replace(chain, stages=tuple(stages))


def left_as_text(case: Case, chain: Chain, number: int, want: Result, got: Result) -> bool:
    """D2 (the original has a defect): returns True if both chains reject the record, but our chain rejects it at an
    earlier stage, because of a JSON string.

    Our EventRouter left this string unchanged, and a later stage of our chain cannot process a string. Debezium's
    EventRouter turned the string into a struct, so Debezium's chain fails only at a stage after that.
    """
    if "error" not in want or "error" not in got or got["error"]["code"] != "SMT201":
        return False
    names = [stage.alias for stage in chain.stages]
    place, other = (names.index(r["error"]["stage"]) if r["error"]["stage"] in names else -1 for r in (got, want))
    routers = []
    for s in chain.stages[: max(place, 0)]:
        if isinstance(s.transform, EventRouter):
            routers.append(s.transform)
    if not 0 <= place < other or not any(router.table_expand_json_payload for router in routers):
        return False
    before = replace(chain, stages=chain.stages[:place])
    (result,) = run_case({**case, "records": [case["records"][number]]}, before)["results"]
    if "record" in result:
        value = canonical_record(result["record"])["value"]
    else:
        value = None
    return value is not None and value[1]["type"] == "string" and value[2][:1] in ("{", "[")


# D9: memory


class _Remembering(ByLogicalTableRouter):
    """A router with the defect of Debezium's cache of schemas. The router names a schema after the topic in which the
    schema first occurs. Later records with this schema get the same name, even in another topic.
    """

    def _with_name(self, group: Group, topic: str | None, suffix: str) -> Schema:
        first = self.first_topics().setdefault((suffix, repr(group.schema)), topic)
        return super()._with_name(group, first, suffix)

    def first_topics(self) -> dict[Any, str | None]:
        """Returns the cache, a dict. It maps a schema (and the suffix of its new name) to the first topic in which the
        schema occurred.
        """
        raise NotImplementedError


def with_memory(chain: Chain) -> Chain:
    """Returns ``chain`` with routers that remember the schema names of earlier records, as Debezium's
    ByLogicalTableRouter does.
    """

    def remembering() -> type[Transform]:
        known: dict[Any, str | None] = {}
        # each transform gets a class of its own, whose method holds the cache, because a frozen model takes no
        # attribute
        return type("Remembering", (_Remembering,), {"first_topics": lambda self: known})

    return exchanged(chain, ByLogicalTableRouter, remembering)


def remembers(case: Case) -> Case | None:
    """D9 (the original uses a cache): returns ``case`` (chain, records and Kafka's results) marked to run with routers
    that cache schemas, as Debezium's routers do. Returns None if the case has no such router, or only one record.
    """
    routes = any(type_of(case, key.split(".")[1]) == "ByLogicalTableRouter" for key, _ in _options(case, "type"))
    if routes and len(case["records"]) > 1:
        return {"memory": True, **case}
    return None


# D10: columns


_BY_RECORD = {"SMT476", "SMT478"}
_BY_SCHEMA = {"SMT102", "SMT111", "SMT470", "SMT471", "SMT472", "SMT474", "SMT487", "SMT488"}


def refused_for_columns(case: Case, chain: Chain, number: int, got: Result) -> bool:
    """D10 (a table of columns has one schema): returns True if our result ``got`` is an error of the plan. The plan for
    the record's schemas then contains this error before any record is read.

    Spark writes a table of columns with one plan for all records of a schema. If the plan has an error at a stage, all
    these records fail, although Kafka may process some of them. The problem SMT478 of a ByLogicalTableRouter also
    qualifies.
    """
    if "error" not in got or got["error"]["code"] not in _BY_RECORD | _BY_SCHEMA:
        return False
    error = got["error"]
    if error["code"] == "SMT478":
        return type_of(case, error["stage"]) == "ByLogicalTableRouter"
    record, converter = case["records"][number], Converter(case.get("converter") or {})
    for key, value in _schemas(case, record, converter):
        with suppress(UnsupportedError):
            topics = set()
            for r in case["records"]:
                if r["topic"]:
                    topics.add(r["topic"])
            plan = fold_chain(chain, key, value, topics=tuple(topics))
            failures = []
            for step in plan.steps:
                if step.plan.failure is not None:
                    failures.append(step.plan)
            for failed in failures:
                assert failed.failure is not None
                if failed.failure.code == error["code"] and failed.stage.alias == error["stage"]:
                    return True
    return False


def _schemas(case: Case, record: Case, converter: Converter) -> Iterator[tuple[Schema | None, Schema | None]]:
    """Yields the pairs of a key schema and a value schema that a plan may use for ``record``. Each side has up to three
    schemas: the schema of the record itself comes first, then the schemas of other records in the case. At the end, the
    pairs without a key schema follow.
    """
    sides: dict[str, list[Schema | None]] = {}
    for side in ("key", "value"):
        datums = [record[side], *(other[side] for other in case["records"])]
        schemas: list[Schema | None] = []
        for datum in datums:
            with suppress(DataError):
                if datum and "envelope" in datum:
                    schemas.append(converter.split(datum["envelope"].encode(errors="surrogatepass"))[0])
        sides[side] = schemas or [None]
    for value in sides["value"][:3]:
        for key in sides["key"][:3]:
            yield (key, value)
    for value in sides["value"][:3]:
        yield (None, value)


def without_names(case: Case, chain: Chain, want: Result, got: Result) -> Result | None:
    """D10 (a table of columns has one schema): returns Kafka's result ``want`` with our key and value, if only the
    names and versions of schemas differ. Otherwise returns None.

    The result is also None if no stage is a router that names schemas after topics, or if ``got`` contains a schema
    name that no input record contains.
    """
    namers = []
    for s in chain.stages:
        if isinstance(s.transform, ByLogicalTableRouter | EventRouter):
            namers.append(s.transform)
    if not namers or "record" not in want or "record" not in got:
        return None
    a, b = canonical_record(want["record"]), canonical_record(got["record"])
    text_of_records = str(case["records"])
    names = set[str | None]()
    for side in ("key", "value"):
        names.update(_names_in(b[side]))
    if any(name is not None and f'"{name}"' not in text_of_records for name in names):
        return None
    if any(_without_names(a[side]) != _without_names(b[side]) for side in ("key", "value")):
        return None
    return {"record": {**want["record"], "key": got["record"]["key"], "value": got["record"]["value"]}}


def _names_in(datum: Any) -> Iterator[str | None]:
    if isinstance(datum, tuple) and datum and datum[0] == "schema":
        yield from _struct_names(datum[1])


def _struct_names(schema: Any) -> Iterator[str | None]:
    if isinstance(schema, dict) and schema.get("type") == "struct":
        yield schema.get("name")
        for field in schema["fields"]:
            yield from _struct_names(field)


def _without_names(datum: Any) -> Any:
    if isinstance(datum, tuple) and datum and datum[0] == "schema":
        return ("schema", _bare(datum[1]), datum[2])
    return datum


def _bare(schema: Any) -> Any:
    if not isinstance(schema, dict) or schema.get("type") != "struct":
        return schema
    entries = {}
    for key, value in schema.items():
        if key not in ("name", "version"):
            entries[key] = value
    return {**entries, "fields": [_bare(field) for field in entries["fields"]]}


# D11 and D12: errors


_FAULTS = {
    "EventRouter": {"SMT102", "SMT111", "SMT484", "SMT485", "SMT486", "SMT487", "SMT488"},
    "ExtractNewRecordState": {"SMT470", "SMT471", "SMT472", "SMT473", "SMT474", "SMT475", "SMT477"},
    "HeaderToValue": {"SMT111", "SMT201", "SMT479", "SMT480", "SMT481"},
    "ByLogicalTableRouter": {"SMT111", "SMT201", "SMT470", "SMT472"},
}
"""Maps a vendor's transform to the codes of problems that it can have with one record. One record may have several of
these problems.
"""


def another_fault(case: Case, want: Result, got: Result) -> bool:
    """D11 (a record has several faults): returns True if Connect and this package reject the record at the same stage,
    each because of a different fault.
    """
    if "error" not in want or "error" not in got or want["error"]["stage"] != got["error"]["stage"]:
        return False
    return got["error"]["code"] in _FAULTS.get(type_of(case, got["error"]["stage"]), ())


def nowhere(case: Case, want: Result, got: Result) -> bool:
    """D12 (the original damages a record): returns True if Kafka's result ``want`` is a damaged record, and our result
    ``got`` is the error that rejects this record. For example, the damage is a negative partition that Debezium's
    EventRouter has set.
    """
    if "record" not in want or "error" not in got:
        return False
    code, transform = got["error"]["code"], type_of(case, got["error"]["stage"])
    record = want["record"]
    if (code, transform) == ("SMT444", "EventRouter"):
        return record["partition"] is not None and record["partition"] < 0
    if (code, transform) == ("SMT480", "HeaderToValue"):
        for _, value in _options(case, "fields"):
            for item in value.split(","):
                # in a path with two or more dots, Debezium writes to a different field
                if item.count(".") > 1:
                    return True
        return False
    if (code, transform) == ("SMT455", "ConcatFields"):
        # Java prints a byte array as its class and a hash, such as ``[B@1b6d3586``
        return "[B@" in str(record["value"]) + str(record["key"])
    sides = [record["key"], record["value"]]
    unwritten = any(side is not None and "unserialisable" in side for side in sides)
    return unwritten and (code, transform) in {("SMT201", "CaseTransform"), ("SMT481", "HeaderToValue")}


def fewer_conditions(case: Case, chain: Chain, want: Result) -> bool:
    """D2 (the original has a defect): returns True if Aiven's FieldValueMatches fails on a path such as ``a.b`` because
    ``a`` has no fields. In this package, the predicate is then false.
    """
    error = want.get("error", {})
    predicates = []
    for s in chain.stages:
        if s.alias == error.get("stage"):
            predicates.append(s.predicate)
    known = any(type(p).__name__ == "FieldValueMatches" for p in predicates if p is not None)
    return known and "[nested field access]" in (error.get("message") or "")
