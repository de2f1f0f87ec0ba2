"""Measures each transform alone, on JSON without a schema and with a declared schema. The result is the cost of one
stage.

If this module lists no options for a class, the class is measured with the first of its documented examples whose
record passes through the transform. A class without such an example, such as a class that reads headers, is not
measured.
"""

from benchmarks.cases import NOTHING, Case, Target, declared, lazy
from benchmarks.of_examples import ExampleRecord
from dagster_smt.authoring.transform import PACKAGE, Transform
from dagster_smt.chain.plugins import own
from dagster_smt.chain.vendors import vendor_of
from dagster_smt.interpret.examples import set_example_key
from dagster_smt.transforms.privacy.pseudonymize import Pseudonymize

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
"""The number of measured rounds of these cases. It is low because there are many cases."""


def chain(kind: str) -> dict[str, str]:
    """Returns a chain with one stage of the class ``kind``, such as ``MaskField$Value``."""
    options = {f"transforms.it.{name}": text for name, text in _SOME[kind].items()}
    tombstone = {"predicates": "tombstone", "predicates.tombstone.type": "RecordIsTombstone"}
    return {"transforms": "it", "transforms.it.type": kind, **options, **(tombstone if kind == "Filter" else {})}


def unlisted() -> list[type[Transform]]:
    """Returns the transform classes that have no options in ``_SOME``."""
    listed = {PACKAGE + kind.partition("$")[0] for kind in _SOME}
    return [cls for cls in own(Transform) if cls.connect_class not in listed]


def called(kind: str) -> str:
    """Returns the short name of the class ``kind``. If several vendors have a class with this name, the vendor is
    added.
    """
    short, connect_class = kind.rpartition(".")[2], kind.partition("$")[0]
    same = [cls for cls in own(Transform) if cls.__name__ == short.partition("$")[0]]
    return f"{short} of {vendor_of(connect_class)}" if len(same) > 1 else short


def of_example(cls: type[Transform], word: str) -> list[Case]:
    """Returns two cases for the documented example of ``cls``: first one without a stage, then one with the transform.
    The list is empty if no example's record passes through the transform.

    Args:
        cls: The class of the transform.
        word: ``lazy`` for values without a schema, ``declared`` for values with a declared schema.
    """
    kind = cls.connect_class + ("$Value" if cls.sided else "")
    for example in cls.examples:
        record = ExampleRecord(example)
        stage = {f"transforms.it.{key}": str(text) for key, text in example.options.items()}
        with_stage = {"transforms": "it", "transforms.it.type": kind, **stage}
        if record.goes_through(with_stage, word):
            name = called(kind)
            target = _target(cls, word)
            nothing, run = f"{word} JSON, no stage, records of {name}", getattr(record, word)
            return [
                Case(nothing, run(NOTHING), rounds=ROUNDS),
                Case(f"{word} JSON, {name}", run(with_stage), nothing, rounds=ROUNDS, target=target, alone=True),
            ]
    return []


def _target(cls: type[Transform], word: str) -> Target:
    """Returns the limit on the time of a case. Only ``Pseudonymize`` on JSON without a schema has one: a microsecond of
    CPU time per record.
    """
    return Target(micros=1.0) if cls is Pseudonymize and word == "lazy" else Target()


set_example_key()  # the examples of transforms with keys run here to see whether their records pass
CASES = (
    Case(LAZY_NOTHING, lazy(NOTHING), rounds=ROUNDS),
    *(
        Case(f"lazy JSON, {kind}", lazy(chain(kind)), LAZY_NOTHING, rounds=ROUNDS, alone=True)
        for kind in _SOME
        if kind not in _ONLY_WITH_SCHEMA
    ),
    Case(DECLARED_NOTHING, declared(NOTHING), rounds=ROUNDS),
    *(
        Case(f"declared JSON, {kind}", declared(chain(kind)), DECLARED_NOTHING, rounds=ROUNDS, alone=True)
        for kind in _SOME
    ),
    *(case for cls in unlisted() for word in ("lazy", "declared") for case in of_example(cls, word)),
)
