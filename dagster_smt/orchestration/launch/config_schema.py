"""The run config of assets and ops: the chain, the window, and the reaction to records that fail.

The run config uses Dagster's older config schema, because the Pythonic ``Config`` cannot express an ordered list of
different transforms. The chain in the run config is by default the chain of the definition, so that users can edit this
chain in the Launchpad. Dagster checks the shape of a run config. ``decode_config`` checks everything else before the
Spark work begins.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

import dagster as dg

from dagster_smt.authoring.foreign_settings import ForeignSettings
from dagster_smt.authoring.options import Options
from dagster_smt.chain import Chain, parse_chain
from dagster_smt.chain.plugins import predicates, transforms
from dagster_smt.chain.stages import as_text
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration.launch.dataclass_fields import config_fields
from dagster_smt.orchestration.launch.stage_option_fields import option_fields
from dagster_smt.privacy.applied_policy import AppliedPolicy
from dagster_smt.tables.topic_table import check_start, millis_of
from dagster_smt.tables.window_request import MicroBatches, WindowRequest

Tolerance = Literal["none", "all"]
DeadPaths = Literal["error", "warn"]

_TOLERANCE = dg.Enum(
    "SmtErrorsTolerance",
    [
        dg.EnumValue("none", description="Topics with failed records are not committed, and the run fails."),
        dg.EnumValue("all", description="Records that fail become dead letters, and the other records are committed."),
    ],
)

_DEAD_PATHS = dg.Enum(
    "SmtDeadPaths",
    [
        dg.EnumValue("error", description="The run is refused before it reads anything."),
        dg.EnumValue("warn", description="The run warns, and values that the stage should hide pass."),
    ],
)


_LATE = dg.Enum(
    "SmtLate",
    [
        dg.EnumValue("next", description="The record belongs to the window of its offset, among newer records."),
        dg.EnumValue("include", description="The window of its own time also reads the record, and replaces its row."),
    ],
)


# cached, because a config schema may contain only one enumeration of the same name
@cache
def _stage() -> dg.Shape:
    """Returns the config shape of a stage. Class names are an enumeration, so that the Launchpad rejects a misspelt
    class.
    """
    predicate = {
        "name": dg.Field(str, description="Your name for the predicate."),
        "type": dg.Field(_classes("SmtPredicate", predicates()), description="The class."),
        "options": _options(predicates().values()),
    }
    return dg.Shape(
        {
            "alias": dg.Field(str, description="Your name for the stage, which problems and counts show."),
            "type": dg.Field(_classes("SmtTransform", transforms()), description="The class."),
            "options": _options(transforms().values()),
            "predicate": dg.Field(
                dg.Noneable(dg.Shape(predicate)),
                is_required=False,
                description="The condition under which the stage acts.",
            ),
            "negate": dg.Field(bool, is_required=False, description="Act if the predicate is false."),
        }
    )


def _options(classes: Iterable[type[Options]]) -> dg.Field:
    return dg.Field(option_fields(classes), default_value={}, description="The options, named as in a connector.")


def _classes(name: str, known: Mapping[str, type[Options]]) -> dg.Enum:
    """Returns an enumeration of the class names in ``known``, both in short form and with their package."""
    values: dict[str, str] = {}
    for cls in known.values():
        sides = ("$Key", "$Value") if getattr(cls, "sided", False) else ("",)
        for text in (f"{n}{side}" for n in (cls.__name__, cls.connect_class) for side in sides):
            # if several classes share a short name, the first class wins, as in ``find_class``
            values.setdefault(text, (cls.__doc__ or "").split("\n")[0])
    classes = []
    for text, doc in values.items():
        classes.append(dg.EnumValue(text, description=doc))
    return dg.Enum(name, classes)


@dataclass(frozen=True)
class RunSettings:
    """A decoded run config.

    Attributes:
        chain: The chain to apply.
        window: The offsets to read.
        rebuild: True to read the topics again from the beginning, and to replace their rows.
        take_over: True to continue with a table that another asset has written.
        errors_tolerance: The reaction to records that fail.
        micro_batch: The limits of a series of windows; None for a single window.
        settle: True to accept the rows that other writers have changed.
        defined: The chain of the definition, with the stages of the run's policy before it. None if ``decode_config``
            returned the settings, because this function does not know the chain of the definition.
        policy: The policy of the run.
        own: The chain without the policy; None if there is no policy.
    """

    chain: Chain
    window: WindowRequest
    rebuild: bool
    errors_tolerance: Tolerance
    take_over: bool = False
    micro_batch: MicroBatches | None = None
    settle: bool = False
    defined: Chain | None = None
    policy: AppliedPolicy | None = None
    own: Chain | None = None

    def overridden(self, chain: Chain) -> bool:
        """Returns True if the run config has replaced the chain of the definition.

        Args:
            chain: The chain of the definition. If the attribute ``defined`` is set, the method ignores this argument
                and uses ``defined``, which begins with the stages of this run's policy.
        """
        return self.chain.hash != (self.defined or chain).hash


def chain_config(chain: Chain) -> dict[str, Any]:
    """Returns ``chain`` in the form that a run config has: as stages, or as properties if the options of a class are
    unknown.
    """
    if chain.has_foreign:
        return {"properties": dict(chain.properties)}
    return {"stages": chain.to_stages()}


def smt_config_schema(default: Chain, errors_tolerance: Tolerance = "none") -> dict[str, dg.Field]:
    """Returns the config schema of an asset or op.

    Args:
        default: The chain of a run whose config has no chain.
        errors_tolerance: The default of ``errors.tolerance``.
    """
    chain = dg.Selector(
        {
            "stages": dg.Field(dg.Array(_stage()), description="Ordered stages."),
            "properties": dg.Field(
                dg.Map(str, dg.Any, key_label_name="property"),
                description="The transforms.* and predicates.* properties of a connector, unchanged.",
            ),
        }
    )
    return {
        "chain": dg.Field(
            chain, default_value=chain_config(default), description="The transforms, in one of two forms."
        ),
        "window": dg.Field(_window_fields(), description="The offsets to read. By default the new records."),
        "micro_batch": dg.Field(
            dg.Noneable(dg.Shape(config_fields(MicroBatches))),
            default_value=None,
            description="Split a backlog into bounded windows, each with its own commit, in this one run.",
        ),
        "dead_paths": dg.Field(
            _DEAD_PATHS,
            default_value=default.dead_paths,
            description="The reaction to a mask, drop or rename that can touch nothing.",
        ),
        "errors.tolerance": dg.Field(
            _TOLERANCE, default_value=errors_tolerance, description="The reaction to records that fail, as in Connect."
        ),
    }


_OWN_FORM = ("topics", "explicit", "everywhere", "since", "until", "cuts", "late")
"""The fields of the dataclass ``WindowRequest`` that do not become options of the run config automatically. For some of
them, the run config has no option. For the others, it has an option of a different type.
"""


def _flag(description: str) -> dg.Field:
    return dg.Field(bool, default_value=False, description=description)


def _window_fields() -> dict[str, dg.Field]:
    time = dg.Noneable(str)
    return {
        "topics": dg.Field(
            dg.Array(str), default_value=[], description="Only these topics of the table. Empty: all topics."
        ),
        "explicit": dg.Field(
            dg.Noneable(dg.Map(str, dg.Any, key_label_name="topic")),
            default_value=None,
            description='A fixed range {topic: {"partition": [start, end]}}, end excluded; {"*": [start, end]} is one '
            "range for every partition. The run replaces exactly the rows of this range. Null: continue after the last "
            "window.",
        ),
        "since": dg.Field(
            time,
            default_value=None,
            description="A fixed range by time: from the first record at or after this time (2026-01-31T12:00:00Z, or "
            "milliseconds). The run replaces exactly the rows of this range.",
        ),
        "until": dg.Field(
            time, default_value=None, description="Up to the first record at or after this time, which is excluded."
        ),
        "late": dg.Field(_LATE, default_value="next", description="The window of a record that arrives late."),
        **config_fields(WindowRequest, omit=_OWN_FORM),
        "settle": _flag(
            "Confirm that somebody deleted, changed or added rows on purpose. The table records the run and the step, "
            "and counts its rows again from there."
        ),
        "take_over": _flag(
            "Continue with a table that an asset of another name has written. Use it once, after a renaming."
        ),
        "rebuild": _flag("Start over from the earliest offsets: replace all rows, or only those of window.topics."),
    }


def decode_config(
    config: Mapping[str, Any],
    place: str,
    topics: tuple[str, ...] = (),
    *,
    only: Chain | None = None,
    foreign: ForeignSettings | None = None,
) -> RunSettings:
    """Decodes a run config that has the shape of ``smt_config_schema``.

    Args:
        config: The config, as Dagster passes it to a step.
        place: The location of the config, for messages: ``ops.<name>.config``.
        topics: The topics that the run may read; empty for all topics of the table.
        only: The chain that the run must have; None if the run config may choose a chain.
        foreign: The settings for classes from jars, taken from the chain of the definition.

    Raises:
        ConfigError: The chain or the window is wrong, and the error lists all of their problems; SMT306, the run config
            replaces a chain that must run.
    """
    ((form, source),) = config["chain"].items()
    if form == "properties":
        # YAML reads 5 and true as a number and a flag, but properties of a connector are strings
        source = {key: as_text(value) for key, value in source.items()}
    problems: list[Problem] = []
    # if the chain is wrong, the rest of the config is decoded nevertheless, so that one error lists all problems
    chain = Chain(())
    try:
        # the locations of problems begin with "stages[0]" for stages, and with the property for properties
        where = f"{place}.chain" + (".properties" if form == "properties" else "")
        chain = parse_chain(source, place=where, foreign=foreign)
    except ConfigError as error:
        problems += error.problems
    # a chain that could not be parsed is the empty chain here, whose difference is no further problem
    if only is not None and chain.hash != only.hash and not problems:
        problems.append(_other_chain(f"{place}.chain"))
    allowed: DeadPaths = "warn" if config["dead_paths"] == "warn" else chain.dead_paths
    chain = replace(chain, dead_paths=allowed)
    window, window_problems = _decode_request(config["window"], f"{place}.window", topics)
    batches, batch_problems = _decode_batches(config["micro_batch"], f"{place}.micro_batch", window)
    problems += [*window_problems, *batch_problems]
    if problems:
        raise ConfigError(problems)
    flags = config["window"]
    return RunSettings(
        chain, window, flags["rebuild"], config["errors.tolerance"], flags["take_over"], batches, flags["settle"]
    )


def _other_chain(place: str) -> Problem:
    statement = "is not the chain of the definition, which masks or drops something"
    hint = "leave the chain out, or define it with allow_chain_override: then everyone who launches runs can unmask"
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
            problems.append(
                _no_range(f"{place}.explicit.*", "must be the only key, with one pair [start, end] of offsets")
            )
            data = None
    explicit, range_problems = _decode_window(data, f"{place}.explicit")
    problems += range_problems
    problems += _limit_problems(config["max_records"], f"{place}.max_records")
    chosen = topics
    if config["topics"]:
        # an empty result would mean all topics, but topics outside of this run are a problem, see below
        chosen = tuple(sorted(set(config["topics"]) & set(topics) if topics else set(config["topics"])))
    for name, names in (("topics", config["topics"]), ("explicit", explicit.topics if explicit else ())):
        if topics and set(names) - set(topics):
            hint = f"this run is for {', '.join(topics[:5])}: leave the others out, or launch their partitions"
            problems.append(Problem("SMT032", f"{place}.{name}", "names topics that are not in the run", hint))
    times, time_problems = _decode_times(config, place)
    problems += time_problems
    simple = {}
    for field in fields(WindowRequest):
        if field.name not in _OWN_FORM:
            simple[field.name] = config[field.name]
    simple["accept_unmasked"] = simple["accept_unmasked"].strip()
    request = WindowRequest(
        topics=chosen,
        explicit=explicit,
        everywhere=everywhere,
        since=times.get("since"),
        until=times.get("until"),
        late=config["late"],
        **simple,
    )
    return request, problems + _redrive_problems(request, place, rebuild=config["rebuild"])


def _limit_problems(limit: int | None, place: str) -> list[Problem]:
    if limit is None or limit >= 1:
        return []
    hint = "give a number from 1 on, or null for all records"
    return [Problem("SMT031", place, f"{limit} records are not a window", hint)]


def _redrive_problems(request: WindowRequest, place: str, *, rebuild: bool) -> list[Problem]:
    if not (request.fixed or request.max_records is not None or rebuild or (request.redrive and request.repair)):
        return []
    problems = []
    if request.redrive:
        hint = "leave the range, max_records and rebuild out"
        problems.append(
            Problem(
                "SMT513",
                f"{place}.redrive",
                "a redrive reads exactly the failed records, so it takes no other window",
                hint,
            )
        )
    if request.repair:
        hint = "leave the range, max_records, redrive and rebuild out"
        problems.append(
            Problem(
                "SMT354",
                f"{place}.repair",
                "a repair reads exactly the unmasked records, so it takes no other window",
                hint,
            )
        )
    return problems


def _decode_times(config: Mapping[str, Any], place: str) -> tuple[dict[str, int], list[Problem]]:
    times: dict[str, int] = {}
    problems: list[Problem] = []
    for name in ("since", "until"):
        try:
            if config[name] is not None:
                times[name] = millis_of(config[name])
        except ValueError:
            hint = "write 2026-01-31T12:00:00Z, or milliseconds since 1970"
            problems.append(Problem("SMT033", f"{place}.{name}", "is not a point in time", hint))
    try:
        check_start(config["start"] or "earliest", f"{place}.start")
    except ConfigError as error:
        problems += error.problems
    return times, problems


def _decode_batches(
    config: Mapping[str, Any] | None, place: str, window: WindowRequest
) -> tuple[MicroBatches | None, list[Problem]]:
    if config is None:
        return None, []
    problems = []
    for name, value in config.items():
        if value is not None and value <= 0:
            problems.append(
                Problem("SMT034", f"{place}.{name}", f"{value} is not a limit", "use a number above 0, or null")
            )
    if window.fixed or window.redrive or window.repair:
        hint = "leave micro_batch out, or the fixed range"
        problems.append(Problem("SMT034", place, "a fixed range cannot be split into batches", hint))
    return (None if problems else MicroBatches(**config)), problems


def _decode_window(data: Mapping[str, Any] | None, place: str) -> tuple[Window | None, list[Problem]]:
    if data is None:
        return None, []
    ranges: list[Range] = []
    problems: list[Problem] = []
    for topic, partitions in data.items():
        if not isinstance(partitions, Mapping):
            problems.append(_no_range(f"{place}.{topic}", "is not a mapping of partitions"))
            continue
        for partition, bounds in partitions.items():
            where = f"{place}.{topic}.{partition}"
            if not str(partition).isdecimal():
                problems.append(_no_range(where, "is not the number of a partition"))
            elif not _is_range(bounds):
                problems.append(_no_range(where, "is not a pair [start, end] of offsets"))
            else:
                ranges.append(Range(topic, int(partition), *bounds))
    return Window(tuple(sorted(ranges))), problems


def _is_range(bounds: Any) -> bool:
    if not isinstance(bounds, list) or len(bounds) != 2:
        return False
    for b in bounds:
        # in Python, True is an int
        if not (isinstance(b, int) and not isinstance(b, bool) and b >= 0):
            return False
    return True


def _no_range(place: str, statement: str) -> Problem:
    return Problem(
        "SMT032", place, statement, 'write {"orders": {"0": [100, 200]}}: the end is the offset after the last'
    )
