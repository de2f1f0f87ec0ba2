"""Short ways to write chains and schemas."""

from collections import Counter

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.tables.ddl import parse_ddl

ORDERS = parse_ddl("id INT NOT NULL, name STRING, a STRUCT<b: INT, c: STRING>, amount DOUBLE")
TOMBSTONE = {"name": "tombstone", "type": "RecordIsTombstone"}
TRACED = {"name": "traced", "type": "HasHeaderKey", "options": {"name": "trace"}}
EUROPEAN = {"name": "european", "type": "TopicNameMatches", "options": {"pattern": ".*-eu"}}


def stage(type_, when=None, unless=None, **options):
    """A stage whose alias is the transform's name in small letters; ``_`` in option names stands for a dot."""
    result = {"alias": type_.split("$")[0].lower(), "type": type_}
    result["options"] = {k.replace("_", "."): v for k, v in options.items()}
    if when or unless:
        result |= {"predicate": when or unless, "negate": unless is not None}
    return result


def chain_of(*stages):
    """A chain; equal aliases are numbered."""
    seen = Counter()
    numbered = []
    for source in stages:
        seen[source["alias"]] += 1
        number = seen[source["alias"]]
        numbered.append(source | {"alias": source["alias"] + (str(number) if number > 1 else "")})
    return parse_chain(numbered)


def plan_of(*stages, key=None, value=ORDERS, typed=True, topics=()):
    return plan_chain(chain_of(*stages), key, value, typed=typed, topics=topics)
