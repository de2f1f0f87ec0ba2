"""The run config of assets and ops: the chain, the window, what to do with records that fail.

Dagster's older config schema, because its Pythonic ``Config`` cannot say an ordered list of different transforms. The
chain that the definition was made with is the default, so the Launchpad shows it ready to be changed. Dagster checks
the shape; ``decode_config`` checks the meaning, before any Spark work.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import dagster as dg

from dagster_smt.authoring.options import Options
from dagster_smt.chain import Chain, parse_chain
from dagster_smt.chain.plugins import predicates, transforms
from dagster_smt.chain.stages import as_text
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration.launch.option_fields import option_fields
from dagster_smt.tables.spec import MicroBatches, WindowRequest, check_start, millis_of

Tolerance = Literal["none", "all"]
DeadPaths = Literal["error", "warn"]

_TOLERANCE = dg.Enum(
    "SmtErrorsTolerance",
    [
        dg.EnumValue("none", description="The run fails before anything is committed."),
        dg.EnumValue("all", description="Records that fail become dead letters, the others are committed."),
    ],
)

_DEAD_PATHS = dg.Enum(
    "SmtDeadPaths",
    [
        dg.EnumValue("error", description="It is refused before anything is read."),
        dg.EnumValue("warn", description="It is a warning; what it was to hide gets through."),
    ],
)


_LATE = dg.Enum(
    "SmtLate",
    [
        dg.EnumValue("next", description="They are of the windows in which they lie, among younger records."),
        dg.EnumValue("include", description="They are read with this window, too, and their rows replaced."),
    ],
)


@cache
def _stage() -> dg.Shape:
    """A stage. Classes are an enumeration, so that the Launchpad offers them and refuses a misspelt one."""
    predicate = {
        "name": dg.Field(str, description="Your name for it."),
        "type": dg.Field(_classes("SmtPredicate", predicates()), description="Its class."),
        "options": _options(predicates().values()),
    }
    return dg.Shape(
        {
            "alias": dg.Field(str, description="Your name for the stage; problems and counts carry it."),
            "type": dg.Field(_classes("SmtTransform", transforms()), description="Its class."),
            "options": _options(transforms().values()),
            "predicate": dg.Field(
                dg.Noneable(dg.Shape(predicate)), is_required=False, description="When the stage acts."
            ),
            "negate": dg.Field(bool, is_required=False, description="Act where the predicate is false."),
        }
    )


def _options(classes: Iterable[type[Options]]) -> dg.Field:
    return dg.Field(option_fields(classes), default_value={}, description="Its options, named as in a connector.")


def _classes(name: str, known: Mapping[str, type[Options]]) -> dg.Enum:
    """The names of classes: short, and with their package."""
    values: dict[str, str] = {}
    for cls in known.values():
        sides = ("$Key", "$Value") if getattr(cls, "sided", False) else ("",)
        for text in (f"{n}{side}" for n in (cls.__name__, cls.connect_class) for side in sides):
            values.setdefault(text, (cls.__doc__ or "").split("\n")[0])
    return dg.Enum(name, [dg.EnumValue(text, description=doc) for text, doc in values.items()])


@dataclass(frozen=True)
class RunSettings:
    """A run config, decoded.

    Attributes:
        chain: The chain to apply.
        window: Which offsets to read.
        rebuild: Start the table over.
        take_over: Go on with a table that another asset has written.
        errors_tolerance: What happens to records that fail.
        micro_batch: Limits of a series of windows; None for one window.
        settle: Take rows that others changed for right.
    """

    chain: Chain
    window: WindowRequest
    rebuild: bool
    errors_tolerance: Tolerance
    take_over: bool = False
    micro_batch: MicroBatches | None = None
    settle: bool = False


def smt_config_schema(default: Chain, errors_tolerance: Tolerance = "none") -> dict[str, dg.Field]:
    """The config schema of an asset or op.

    Args:
        default: The chain that runs when the run config names none.
        errors_tolerance: The default of ``errors.tolerance``.
    """
    chain = dg.Selector(
        {
            "stages": dg.Field(dg.Array(_stage()), description="Ordered stages."),
            "properties": dg.Field(
                dg.Map(str, dg.Any, key_label_name="property"),
                description="A connector's transforms.* and predicates.* properties, as they are.",
            ),
        }
    )
    return {
        "chain": dg.Field(
            chain, default_value={"stages": default.to_stages()}, description="The transforms, in one of two forms."
        ),
        "window": dg.Field(_window_fields(), description="Which offsets to read. By default what is new."),
        "micro_batch": dg.Field(
            dg.Noneable(dg.Shape(_micro_batch_fields())),
            default_value=None,
            description="Work a backlog off in bounded windows, each with its own commit, in this one run.",
        ),
        "dead_paths": dg.Field(
            _DEAD_PATHS,
            default_value=default.dead_paths,
            description="What a mask, drop or rename is that can touch nothing.",
        ),
        "errors.tolerance": dg.Field(
            _TOLERANCE, default_value=errors_tolerance, description="What happens to records that fail, as in Connect."
        ),
    }


def _flag(description: str) -> dg.Field:
    return dg.Field(bool, default_value=False, description=description)


def _window_fields() -> dict[str, dg.Field]:
    moment = dg.Noneable(str)
    return {
        "topics": dg.Field(dg.Array(str), default_value=[], description="Only these topics of the table. Empty: all."),
        "explicit": dg.Field(
            dg.Noneable(dg.Map(str, dg.Any, key_label_name="topic")),
            default_value=None,
            description='A fixed range {topic: {"partition": [start, end]}}, end excluded; {"*": [start, end]} is one '
            "range for every partition. It replaces what the table holds of it. Null: go on after the last window.",
        ),
        "since": dg.Field(
            moment,
            default_value=None,
            description="A fixed range by time: from the first record at or after this moment (2026-01-31T12:00:00Z, "
            "or milliseconds). It replaces what the table holds of it.",
        ),
        "until": dg.Field(moment, default_value=None, description="Up to the first record at or after this moment."),
        "late": dg.Field(
            _LATE,
            default_value="next",
            description="Of a window of time: what becomes of its records that came late.",
        ),
        "max_records": dg.Field(
            dg.Noneable(int), default_value=None, description="At most this many records per partition of a topic."
        ),
        "start": dg.Field(
            str,
            default_value="",
            description="Where to begin with topics that the table has not read before: earliest, latest, a moment "
            "(2026-01-31T12:00:00Z), or group:NAME, at a consumer group's committed offsets. What lies before is left "
            "out for good. Empty: as defined.",
        ),
        **_window_flags(),
    }


def _window_flags() -> dict[str, dg.Field]:
    return {
        "accept_gap": _flag(
            "Leave out for good what was deleted before it was read, or lies before a fixed range. The table notes it."
        ),
        **_again_fields(),
        "take_over": _flag("Go on with a table that an asset of another name has written: once, after a renaming."),
        "rebuild": _flag("Start over from the earliest offsets: replaces all rows, or those of the topics named here."),
    }


def _again_fields() -> dict[str, dg.Field]:
    """What of the records that the table has read before is run again, or is fine as it is."""
    return {
        "redrive": _flag(
            "Only the records that failed when they were last read: from their topics again, with today's chain."
        ),
        "repair": _flag(
            "Only the records that masks, drops and renames left as they were, as the check dead_mask names them: from "
            "their topics again, with today's chain. Their rows are replaced."
        ),
        "accept_unmasked": dg.Field(
            str,
            default_value="",
            description="Why the records that dead_mask names are fine as they are. The table notes it, and the check "
            "turns green. Empty: they stay on record.",
        ),
        "begin_anew": _flag(
            "Go on with topics that were deleted and created anew: from their beginning, beside the rows of the former "
            "topics, which stay."
        ),
        "settle": _flag(
            "Rows that others deleted, changed or added were meant: the table notes who settled it, and counts from "
            "there."
        ),
    }


def _micro_batch_fields() -> dict[str, dg.Field]:
    def limit(kind: Any, what: str) -> dg.Field:
        return dg.Field(dg.Noneable(kind), default_value=None, description=what)

    return {
        "max_records": dg.Field(int, description="At most this many records per partition of a topic and batch."),
        "max_batches": limit(int, "At most so many batches. Null: until nothing is new."),
        "max_seconds": limit(float, "No batch begins later than this."),
    }


def decode_config(
    config: Mapping[str, Any], place: str, topics: tuple[str, ...] = (), *, only: Chain | None = None
) -> RunSettings:
    """Decode a run config that has the shape of ``smt_config_schema``.

    Args:
        config: The config, as Dagster hands it out.
        place: What to call it in problems: ``ops.<name>.config``.
        topics: Only these topics of the table; empty for all.
        only: The chain that the run must have; None if the run config may choose.

    Raises:
        ConfigError: With all problems of the chain and the window; SMT306, it has another chain than it must.
    """
    ((form, source),) = config["chain"].items()
    if form == "properties":
        source = {key: as_text(value) for key, value in source.items()}
    problems: list[Problem] = []
    chain = Chain(())
    try:
        # problems of stages begin with "stages[0]", those of properties with the property
        chain = parse_chain(source, place=f"{place}.chain" + (".properties" if form == "properties" else ""))
    except ConfigError as error:
        problems += error.problems
    if only is not None and chain.hash != only.hash and not problems:
        problems.append(_other_chain(f"{place}.chain"))
    allowed: DeadPaths = "warn" if config["dead_paths"] == "warn" else chain.dead_paths
    chain = replace(chain, dead_paths=allowed)
    window, found = _decode_request(config["window"], f"{place}.window", topics)
    problems += found
    batches, found = _decode_batches(config["micro_batch"], f"{place}.micro_batch", window)
    problems += found
    if problems:
        raise ConfigError(problems)
    flags = config["window"]
    return RunSettings(
        chain, window, flags["rebuild"], config["errors.tolerance"], flags["take_over"], batches, flags["settle"]
    )


def _other_chain(place: str) -> Problem:
    statement = "is another chain than the definition's, which masks or drops something"
    hint = "leave the chain out, or define it with allow_chain_override: then who may launch runs can unmask"
    return Problem("SMT306", place, statement, hint)


def _decode_request(
    config: Mapping[str, Any], place: str, topics: tuple[str, ...]
) -> tuple[WindowRequest, list[Problem]]:
    data, everywhere = config["explicit"], None
    problems: list[Problem] = []
    if data is not None and "*" in data:
        if len(data) == 1 and _is_range(data["*"]):
            everywhere, data = tuple(data["*"]), None
        else:
            problems.append(_no_range(f"{place}.explicit.*", "stands alone, with one pair [start, end] of offsets"))
            data = None
    explicit, found = _decode_window(data, f"{place}.explicit")
    problems += found
    problems += _limit_problems(config["max_records"], f"{place}.max_records")
    chosen = topics
    if config["topics"]:
        chosen = tuple(sorted(set(config["topics"]) & set(topics) if topics else set(config["topics"])))
    for name, named in (("topics", config["topics"]), ("explicit", explicit.topics if explicit else ())):
        if topics and set(named) - set(topics):
            hint = f"this run is for {', '.join(topics[:5])}: leave the others out, or launch their partitions"
            problems.append(Problem("SMT032", f"{place}.{name}", "names other topics than the run's", hint))
    moments, found = _decode_moments(config, place)
    problems += found
    request = WindowRequest(
        topics=chosen,
        explicit=explicit,
        everywhere=everywhere,
        since=moments.get("since"),
        until=moments.get("until"),
        late=config["late"],
        max_records=config["max_records"],
        accept_gap=config["accept_gap"],
        start=config["start"],
        redrive=config["redrive"],
        repair=config["repair"],
        accept_unmasked=config["accept_unmasked"].strip(),
        begin_anew=config["begin_anew"],
    )
    return request, problems + _redrive_problems(request, place, rebuild=config["rebuild"])


def _limit_problems(limit: int | None, place: str) -> list[Problem]:
    if limit is None or limit >= 1:
        return []
    hint = "give a number from 1 on, or null for all there is"
    return [Problem("SMT031", place, f"{limit} records are no window", hint)]


def _redrive_problems(request: WindowRequest, place: str, *, rebuild: bool) -> list[Problem]:
    if not (request.fixed or request.max_records is not None or rebuild or (request.redrive and request.repair)):
        return []
    problems = []
    if request.redrive:
        hint = "leave the range, max_records and rebuild out"
        problems.append(Problem("SMT513", f"{place}.redrive", "the failed records are a window of their own", hint))
    if request.repair:
        hint = "leave the range, max_records, redrive and rebuild out"
        problems.append(Problem("SMT354", f"{place}.repair", "the records on record are a window of their own", hint))
    return problems


def _decode_moments(config: Mapping[str, Any], place: str) -> tuple[dict[str, int], list[Problem]]:
    moments: dict[str, int] = {}
    problems: list[Problem] = []
    for name in ("since", "until"):
        try:
            if config[name] is not None:
                moments[name] = millis_of(config[name])
        except ValueError:
            hint = "write 2026-01-31T12:00:00Z, or milliseconds since 1970"
            problems.append(Problem("SMT033", f"{place}.{name}", "is no moment in time", hint))
    try:
        check_start(config["start"] or "earliest", f"{place}.start")
    except ConfigError as error:
        problems += error.problems
    return moments, problems


def _decode_batches(
    config: Mapping[str, Any] | None, place: str, window: WindowRequest
) -> tuple[MicroBatches | None, list[Problem]]:
    if config is None:
        return None, []
    problems = []
    for name, value in config.items():
        if value is not None and value <= 0:
            problems.append(
                Problem("SMT034", f"{place}.{name}", f"{value} is no limit", "use a number above 0, or null")
            )
    if window.fixed or window.redrive or window.repair:
        hint = "leave micro_batch out, or the fixed range"
        problems.append(Problem("SMT034", place, "a fixed range cannot be cut into batches", hint))
    return (None if problems else MicroBatches(**config)), problems


def _decode_window(data: Mapping[str, Any] | None, place: str) -> tuple[Window | None, list[Problem]]:
    if data is None:
        return None, []
    ranges: list[Range] = []
    problems: list[Problem] = []
    for topic, partitions in data.items():
        if not isinstance(partitions, Mapping):
            problems.append(_no_range(f"{place}.{topic}", "is no mapping of partitions"))
            continue
        for partition, bounds in partitions.items():
            where = f"{place}.{topic}.{partition}"
            if not str(partition).isdecimal():
                problems.append(_no_range(where, "is no partition's number"))
            elif not _is_range(bounds):
                problems.append(_no_range(where, "is no pair [start, end] of offsets"))
            else:
                ranges.append(Range(topic, int(partition), *bounds))
    return Window(tuple(sorted(ranges))), problems


def _is_range(bounds: Any) -> bool:
    if not isinstance(bounds, list) or len(bounds) != 2:
        return False
    return all(isinstance(b, int) and not isinstance(b, bool) and b >= 0 for b in bounds)


def _no_range(place: str, statement: str) -> Problem:
    return Problem(
        "SMT032", place, statement, 'write {"orders": {"0": [100, 200]}}: the end is the offset after the last'
    )
