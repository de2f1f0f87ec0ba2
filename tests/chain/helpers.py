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
    found = {"alias": type_.split("$")[0].lower(), "type": type_}
    found["options"] = {k.replace("_", "."): v for k, v in options.items()}
    if when or unless:
        found |= {"predicate": when or unless, "negate": unless is not None}
    return found


def chain_of(*stages):
    """A chain; equal aliases are numbered."""
    seen = Counter()
    numbered = []
    for given in stages:
        seen[given["alias"]] += 1
        number = seen[given["alias"]]
        numbered.append(given | {"alias": given["alias"] + (str(number) if number > 1 else "")})
    return parse_chain(numbered)


def plan_of(*stages, key=None, value=ORDERS, typed=True, topics=()):
    return plan_chain(chain_of(*stages), key, value, typed=typed, topics=topics)
