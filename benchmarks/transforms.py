"""Each transform alone, on both evaluators: what one stage of it costs."""

from benchmarks.cases import NOTHING, Case, declared, lazy

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
_ONLY_WITH_SCHEMA = ("SetSchemaMetadata$Value",)
LAZY_NOTHING, DECLARED_NOTHING = "lazy JSON, no stage", "declared JSON, no stage"
ROUNDS = 2
"""Rounds of these cases: there are many."""


def chain(kind: str) -> dict[str, str]:
    """A chain of one stage."""
    options = {f"transforms.it.{name}": text for name, text in _SOME[kind].items()}
    tombstone = {"predicates": "tombstone", "predicates.tombstone.type": "RecordIsTombstone"}
    return {"transforms": "it", "transforms.it.type": kind, **options, **(tombstone if kind == "Filter" else {})}


CASES = (
    Case(LAZY_NOTHING, lazy(NOTHING), rounds=ROUNDS),
    *(
        Case(f"lazy JSON, {kind}", lazy(chain(kind)), LAZY_NOTHING, rounds=ROUNDS)
        for kind in _SOME
        if kind not in _ONLY_WITH_SCHEMA
    ),
    Case(DECLARED_NOTHING, declared(NOTHING), rounds=ROUNDS),
    *(Case(f"declared JSON, {kind}", declared(chain(kind)), DECLARED_NOTHING, rounds=ROUNDS) for kind in _SOME),
)
