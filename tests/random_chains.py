"""Random chains of all transforms and predicates, with the blanks, spellings and odd values that people write."""

import re

from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.chain.plugins import predicates, transforms
from dagster_smt.chain.stages import as_text
from dagster_smt.chain.vendors import is_kafkas
from dagster_smt.errors import ConfigError

SECRET = "sEcReT"  # in every text of a record

some = st.sampled_from
names = some(["a", "b", "c", "a.b", "b.c", "none", "", "`a.b`", "a.", "`a", "\u3000a", "b\xa0", " c"])
paths = names | some(
    [
        "a.b.c",
        "a[0]",
        "a[*].b",
        "*",
        "**.b",
        "a['b']",
        "/^[ab]/",
        "a./b/i.c",
        "type(string)",
        "**.type(int32)",
        "logical(Date)",
        "a[",
        "**",
    ]
)
commas = some([",", ",", ",", ", ", " ,\t", ",\u2003", "\xa0,"])


def listed(parts, most=3):
    """Lists as Connect reads them, with blanks that it takes away and blanks that belong to a name."""
    return st.tuples(st.lists(parts, max_size=most), commas).map(lambda pair: pair[1].join(pair[0]))


lists = listed(paths)
types = some("int8 int16 int32 int64 float32 float64 boolean string INT8 bytes".split()) | some(
    [" string", "\u2003int8"]
)
flags = some(["true", "false", "maybe", " true", "false\u3000"])
topics = some(["orders", "a|b", "(.*)", "o(.).*", "(", ".*-eu", "(?i)O(?-i)r.*", "[a-z&&[^x]]+", "\\p{IsGreek}*"])
texts = some(
    'x *** 7 300 1e400 -1e400 NaN -1.5 null [1,2] {"a":1} {[1]:2,{"a":1}:null} 2020-01-01 true 0.0 -0.0 1e-400'.split()
) | some(["", " 7", "\u00a07", "9" * 40, "1e2147483648", "12:00:00.000Z"])
SHARED = {
    "field.syntax.version": some(["V1", "V2", "extended", "v2"]),
    "strict_paths": some(["relaxed", "kafka"]),
    "replace.null.with.default": flags,
}
REQUIRED = {
    "Cast": {"spec": listed(st.tuples(paths, types).map(":".join)) | types},
    "DropHeaders": {"headers": lists},
    "ExtractField": {"field": paths},
    "HeaderFrom": {"fields": lists, "headers": lists, "operation": some(["move", "copy"])},
    "HoistField": {"field": paths},
    "InsertHeader": {"header": names, "value.literal": texts},
    "MaskField": {"fields": lists},
    "RegexRouter": {"regex": topics, "replacement": some(["x", "$1", "$2", "", "a-$1", "${n}"])},
    "TimestampConverter": {"target.type": some(["string", "unix", "Date", "Time", "Timestamp"])},
    "ValueToKey": {"fields": lists},
    "HasHeaderKey": {"name": names},
    "TopicNameMatches": {"pattern": topics},
}
inserted = st.tuples(paths, some(["", "!", "?"])).map("".join)
FREE = {
    "Flatten": {"delimiter": some([".", "_", ""])},
    "HoistField": {"hoisted": paths},
    "InsertField": {f"{source}.field": inserted for source in ("topic", "partition", "offset", "timestamp", "static")}
    | {
        "static.value": texts,
        "field.on.missing.parent": some(["create", "ignore"]),
        "field.on.existing.field": some(["overwrite", "ignore"]),
    },
    "MaskField": {"replacement": texts},
    "ReplaceField": {
        "exclude": lists,
        "include": lists,
        "renames": listed(st.tuples(paths, names).map(":".join), 2),
    },
    "SetSchemaMetadata": {
        "schema.name": texts | some(["org.apache.kafka.connect.data.Date", "org.apache.kafka.connect.data.Decimal"]),
        "schema.version": texts,
    },
    "TimestampConverter": {
        "field": paths,
        "fields": lists,
        "format": some(["yyyy-MM-dd", "HH:mm:ss.SSS", "x", "b"]),
        "unix.precision": some(["seconds", "milliseconds", "microseconds", "nanoseconds"]),
    },
    "TimestampRouter": {
        "topic.format": some(["${topic}", "${topic}-${timestamp}", ""]),
        "timestamp.format": some(["yyyy", "b"]),
    },
}


def strategies(cls):
    """What to draw for the options of a class: (required, others). What no table has comes from its examples."""
    shared = {k: v for k, v in SHARED.items() if k in cls.keys()}
    tables = (REQUIRED, FREE) if is_kafkas(cls.connect_class) else ({}, {})
    required, free = (dict(table.get(cls.__name__, {})) for table in tables)
    free = shared | free
    for name, field in cls.model_fields.items():
        key = field.alias or name
        if key not in required and key not in free:
            (required if field.is_required() else free)[key] = guessed(cls, key, field)
    return required, free


def guessed(cls, key, field):
    """Values of an option: those of the examples and its default, and what is none of them."""
    seen = [as_text(e.options[key]) for e in cls.examples if key in e.options]
    default = () if field.is_required() or field.default is None else (as_text(field.default),)
    return some([*seen, *map(str, default)] or ["x"]) | flags | lists | texts


def configured(draw, cls, prefix):
    """Random options of a class; required ones nearly always."""
    required, free = strategies(cls)
    options = {k: draw(v) for k, v in required.items()}
    options |= {k: draw(v) for k, v in free.items() if draw(st.integers(0, 2)) == 0}
    return {f"{prefix}.{k}": v for k, v in options.items()}


@st.composite
def stages(draw, alias):
    """The properties of one stage, without the lists of aliases."""
    cls, prefix = draw(some(list(transforms().values()))), f"transforms.{alias}"
    side = draw(some(["$Value", "$Value", "$Value", "$Key"])) if cls.sided else ""
    result = {f"{prefix}.type": cls.connect_class + side, **configured(draw, cls, prefix)}
    if draw(st.integers(0, 3)) == 0:
        condition = draw(some(list(predicates().values())))
        result |= {f"{prefix}.predicate": f"p{alias}", f"predicates.p{alias}.type": condition.connect_class}
        result |= configured(draw, condition, f"predicates.p{alias}")
        result |= {f"{prefix}.negate": "true"} if draw(st.booleans()) else {}
    return result


def joined(result):
    """The properties of a chain of stages, by alias."""
    properties = {k: v for stage in result.values() for k, v in stage.items()}
    conditions = [f"p{alias}" for alias, stage in result.items() if f"transforms.{alias}.predicate" in stage]
    return properties | {"transforms": ",".join(result), "predicates": ",".join(conditions)}


@st.composite
def chains(draw):
    """A chain of the stages that can be parsed, out of some random ones."""
    results = {}
    for number in range(draw(st.integers(1, 6))):
        stage = draw(stages(f"t{number}"))
        if parsed(joined({f"t{number}": stage})) is not None:
            results[f"t{number}"] = stage
    return parse_chain(joined(results))


def parsed(properties):
    """The chain, or None; broken properties must be refused in an orderly way."""
    try:
        return parse_chain(properties)
    except ConfigError as error:
        for problem in error.problems:
            check_problem(problem)
        return None


def check_problem(problem):
    """Assert that a problem has a code of ours and a sentence, and quotes nothing of a record."""
    assert re.fullmatch(r"SMT\d{3}", problem.code) and problem.code != "SMT999"
    assert problem.statement and SECRET not in str(problem)
