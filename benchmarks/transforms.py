"""Each transform alone, on both evaluators: what one stage of it costs.

A class that no table here has is measured with its first example: on the record of that example, many times over.
"""

from benchmarks.cases import NOTHING, Case, Examples, declared, lazy
from dagster_smt.chain.registry import own
from dagster_smt.chain.vendors import vendor_of
from dagster_smt.spec.transform import PACKAGE, Example, Transform

_SOME = {
    "Cast$Value": {"spec": "amount:float64"},
    "DropHeaders": {"headers": "trace"},
    "ExtractField$Value": {"field": "note"},
    "Filter": {"predicate": "tombstone"},
    "Flatten$Value": {},
    "HeaderFrom$Value": {"fields": "ref", "headers": "ref", "operation": "copy"},
    "HoistField$Value": {"field": "inner"},
    "InsertField$Value": {"static.field": "origin", "static.value": "benchmark"},
    "InsertHeader": {"header": "origin", "value.literal": "benchmark"},
    "MaskField$Value": {"fields": "note"},
    "RegexRouter": {"regex": "payments\\.(.*)", "replacement": "clean.$1"},
    "ReplaceField$Value": {"exclude": "device", "renames": "status:state"},
    "SetSchemaMetadata$Value": {"schema.name": "Payment"},
    "TimestampConverter$Value": {"field": "ts", "target.type": "string", "format": "yyyy-MM-dd HH:mm:ss"},
    "TimestampRouter": {"topic.format": "${topic}-${timestamp}", "timestamp.format": "yyyyMMdd"},
    "ValueToKey": {"fields": "account"},
}
_ONE_RECORD = ("Hash", "HeaderToValue", "ExtractNewRecordState", "ExtractTopicHeader", "MessageTimestampRouter")
"""Classes whose example is no record of both kinds of cases: it has a schema of its own or none, headers, or a change
event."""
_ONLY_WITH_SCHEMA = ("SetSchemaMetadata$Value",)
LAZY_NOTHING, DECLARED_NOTHING = "lazy JSON, no stage", "declared JSON, no stage"
ROUNDS = 2
"""Rounds of these cases: there are many."""


def chain(kind: str) -> dict[str, str]:
    """A chain of one stage."""
    options = {f"transforms.it.{name}": text for name, text in _SOME[kind].items()}
    tombstone = {"predicates": "tombstone", "predicates.tombstone.type": "RecordIsTombstone"}
    return {"transforms": "it", "transforms.it.type": kind, **options, **(tombstone if kind == "Filter" else {})}


def _unlisted() -> list[tuple[str, Example]]:
    """The classes that ``_SOME`` has no options for: (class, example that keeps its record)."""
    listed = {PACKAGE + kind.partition("$")[0] for kind in _SOME}
    classes = [cls for cls in own(Transform) if cls.connect_class not in listed and cls.__name__ not in _ONE_RECORD]
    found = ((cls, next((e for e in cls.examples if e.after is not None), None)) for cls in classes)
    return [(cls.connect_class + ("$Value" if cls.sided else ""), example) for cls, example in found if example]


def called(kind: str) -> str:
    """The short name of a class, with its vendor where several have one of that name."""
    short, connect_class = kind.rpartition(".")[2], kind.partition("$")[0]
    same = [cls for cls in own(Transform) if cls.__name__ == short.partition("$")[0]]
    return f"{short} of {vendor_of(connect_class)}" if len(same) > 1 else short


def _of_example(kind: str, example: Example) -> list[Case]:
    """The cases of an example, each with one that does nothing to the same records."""
    records, name = Examples(example), called(kind)
    stage = {f"transforms.it.{key}": str(text) for key, text in example.options.items()}
    with_stage = {"transforms": "it", "transforms.it.type": kind, **stage}
    found = []
    for word, run in (("lazy", records.lazy), ("declared", records.declared)):
        nothing = f"{word} JSON, no stage, records of {name}"
        found += [Case(nothing, run(NOTHING), rounds=ROUNDS), Case(f"{word} JSON, {name}", run(with_stage), nothing)]
    return found


CASES = (
    Case(LAZY_NOTHING, lazy(NOTHING), rounds=ROUNDS),
    *(
        Case(f"lazy JSON, {kind}", lazy(chain(kind)), LAZY_NOTHING, rounds=ROUNDS)
        for kind in _SOME
        if kind not in _ONLY_WITH_SCHEMA
    ),
    Case(DECLARED_NOTHING, declared(NOTHING), rounds=ROUNDS),
    *(Case(f"declared JSON, {kind}", declared(chain(kind)), DECLARED_NOTHING, rounds=ROUNDS) for kind in _SOME),
    *(case for kind, example in _unlisted() for case in _of_example(kind, example)),
)
