"""Limits parsing to the fields that a run needs, because parsing takes most of the time of a run with a schema.

A top-level field is needed in three cases: the field reaches the output; a predicate reads the field; or a stage
computes something from the field. A field that the chain only drops is not parsed, and its value is not checked against
the schema (docs/decisions/0003).
"""

from dagster_smt.chain.plan import Plan, Step
from dagster_smt.model.cell import Cell, Group, Node, Ref, find, refs_in
from dagster_smt.model.paths.extended import below
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import Schema, Type


def narrowed(plan: Plan, schema: Schema) -> Schema:
    """Returns ``schema``, the schema of the values, with only the top-level fields that ``plan`` needs. If the plan
    uses the whole value, all fields stay.
    """
    if schema.type is not Type.STRUCT or not schema.fields:
        return schema
    sources = _needed(plan)
    for record in plan.results.values():
        sources |= _of_result(record.key, inside=False)
    if "value" in sources:
        return schema
    fields = []
    for name, child in schema.fields:
        place = below("value", name)
        if any(_is_in(source, place) for source in sources):
            fields.append((name, child))
    return schema.with_(fields=tuple(fields) or schema.fields[:1])


def needs_key(plan: Plan) -> bool:
    """Returns True if ``plan`` needs the record's key. There are three such cases: a column of the result comes from
    the key; a stage computes something from the key; or a stage treats a record without a key differently, for example
    drops this record.
    """
    return any(_is_in(source, "key") for source in _needed(plan)) or any(map(_asks_for_a_key, plan.steps))


def _asks_for_a_key(step: Step) -> bool:
    """Returns True if a stage (``step``) treats a record without a key differently, for example drops it."""
    plan = step.plan
    if plan.stage.acts_on != "key":
        return False
    return plan.failure is not None or plan.guarded or plan.stage.transform.on_null() in ("reject", "drop")


def _needed(plan: Plan) -> set[str]:
    """Returns the names of the input fields that ``plan`` uses, for an output value or in a stage's computation."""
    sources: set[str] = set()
    for record in plan.results.values():
        sources |= _of_result(record.value, inside=False)
        if plan.chain.keeps_key:
            sources |= _of_result(record.key, inside=False)
    for step in plan.steps:
        sources |= _of_step(step)
    return sources


def _is_in(source: str, field: str) -> bool:
    # ``value.a`` contains ``value.a.b`` and ``value.a[].b``, but not ``value.ab``
    return source == field or source.startswith((f"{field}.", f"{field}["))


def _of_result(node: Node | None, inside: bool) -> set[str]:
    """Returns the paths of the input fields that the output value ``node`` needs, such as ``value.amount``.

    ``inside`` is False if ``node`` is the whole key or value, and True for a field inside it. For a struct inside it,
    the result also contains the input field that shows whether this struct is null.
    """
    if node is None:
        return set()
    # the root's own null needs no field: the reader's column ``there`` shows it
    own = node.sources if inside or isinstance(node, Cell) else ()
    children = node.fields if isinstance(node, Group) else ()
    return set(own).union(*(_of_result(child, inside=True) for _, child in children))


def _of_step(step: Step) -> set[str]:
    """Returns the names of the input fields from which ``step`` computes something. Fields that the step only passes on
    are not included.
    """
    before, after = step.plan.before, step.plan.after
    if isinstance(step.plan.condition, bool):
        refs = []
    else:
        refs = refs_in(step.plan.condition)
    if after is not None:
        refs += [] if isinstance(after.dropped, bool) else refs_in(after.dropped)
        for touch in after.touched:
            refs += refs_in(touch.when)
        refs += _computed(after.key) + _computed(after.value)
        for cell in (after.headers, after.topic, after.timestamp):
            refs += refs_in(cell.expr)
    results = set()
    for ref in refs:
        results.update(_sources(before, ref))
    return results


def _computed(node: Node | None) -> list[Ref]:
    if node is None:
        return []
    if isinstance(node, Cell):
        # a plain copy computes nothing; if the copy reaches the output, ``_of_result`` counts its field
        if isinstance(node.expr, Ref):
            return []
        return refs_in(node.expr)
    results = []
    for _, child in node.fields:
        results.extend(_computed(child))
    return results


def _sources(before: PlanRecord, ref: Ref) -> set[str]:
    if ref.path[0] not in ("key", "value"):
        return set()
    node = find(before.key if ref.path[0] == "key" else before.value, ref.path[1:])
    if node is None or isinstance(node, Group) or (len(ref.path) == 1 and node.schema.type is Type.STRUCT):
        return set()  # the stage reads only whether the value is present
    return set(node.sources)
