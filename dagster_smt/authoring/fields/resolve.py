"""Resolves configured paths in a schema, before any record is read. Each path becomes routes. A route leads to one
field that the path matches: ``*.id`` has the routes ``("customer", "id")`` and ``("order", "id")``.

A step of a route is a field's name (``str``), ``Key`` (a map's key), ``Every`` (all elements), ``Index``, or ``Match``
(keys of a map).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from dagster_smt.authoring.transform import Planning, refuse
from dagster_smt.model.cell import Key, Select
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.extended import route_text
from dagster_smt.model.paths.steps import Deep, Every, Index, Match, OfLogical, OfType, Step
from dagster_smt.model.schema import Schema, Type
from dagster_smt.values.java.regex import compile_java

RouteStep = str | Select
Route = tuple[RouteStep, ...]


@dataclass
class Branch:
    """A node in a tree of routes. A route is the list of steps to one field that a path matches, such as ``("customer",
    "id")``. The node ``customer`` then has the node ``id`` below it.

    Attributes:
        ends: The numbers of the paths that end at this node.
        below: The nodes below this one, by the step that leads to them.
        meant: True if a path without ``**`` (a deep scan) leads to this node.
    """

    ends: list[int] = field(default_factory=list)
    below: dict[RouteStep, "Branch"] = field(default_factory=dict)
    meant: bool = False

    @property
    def first(self) -> int:
        """The number of the first path that ends in this branch or below it."""
        if self.ends:
            return self.ends[0]
        return next(iter(self.below.values())).first

    def add(self, route: Route, number: int, meant: bool = True) -> None:
        """Adds ``route`` to the tree below this branch. A route is the list of steps to one field that the path
        ``number`` matches.
        """
        branch = self
        for step in route:
            branch = branch.below.setdefault(step, Branch())
            branch.meant |= meant
        if number not in branch.ends:
            branch.ends.append(number)


def resolve(
    schema: Schema,
    paths: Iterable[FieldPath],
    at: Planning,
    strict: bool = False,
    first: int = 0,
    *,
    together: bool = False,
) -> Branch:
    """Resolves ``paths`` in ``schema``, and returns their routes as one tree. A route is the list of steps to one field
    that a path matches.

    Args:
        schema: The schema of the struct in which the paths start.
        paths: The paths, numbered by their position.
        at: Collects the fields that pattern paths match, and the paths without a match.
        strict: True to reject, as Kafka does, a path that selects the key of a map by a plain name.
        first: The position of the first path's entry among the transform's ledger entries (the counts of changed
            records).
        together: True if all paths belong to the entry ``first``; False if each path has an entry of its own.
    """
    root = Branch()
    for number, path in enumerate(paths):
        # a path with two `**` can reach the same field in several ways
        routes = tuple(dict.fromkeys(_routes(schema, path.steps, strict)))
        meant = not any(isinstance(step, Deep) for step in path.steps)
        for route in routes:
            root.add(route, number, meant)
        if not routes:
            at.miss(path.text, *_known(schema, path.steps))
        elif (texts := tuple(map(text_of, routes))) != (path.text,) or not path.plain:
            at.match(first if together else first + number, texts)
    return root


def text_of(route: Route) -> str:
    """Returns ``route`` as a path in the extended syntax: ``("customer", "id")`` becomes ``customer.id``."""
    names = []
    for step in route:
        names.append(step.name if isinstance(step, Key) else step)
    return route_text(tuple(names))


def _routes(schema: Schema, steps: tuple[Step, ...], strict: bool) -> Iterator[Route]:
    if not steps:
        yield ()
        return
    head, rest = steps[0], steps[1:]
    if isinstance(head, Deep):
        # Kafka has no `**`; with `strict`, each map that the scan meets would be an error
        yield from _routes(schema, rest, False)
        for step, child in _children(schema):
            for route in _routes(child, steps, False):
                yield (step, *route)
        return
    if strict and isinstance(head, str) and schema.type is Type.MAP:
        raise refuse("SMT202", f"'{head}' is a step into a map", "set strict_paths to relaxed, or name the map")
    for step, child in matching(schema, head):
        for route in _routes(child, rest, strict):
            yield (step, *route)


def _children(schema: Schema) -> Iterator[tuple[RouteStep, Schema]]:
    if schema.type is Type.STRUCT:
        yield from schema.fields
    elif schema.type in (Type.ARRAY, Type.MAP) and schema.values is not None:
        yield Every(), schema.values


def matching(schema: Schema, step: Step) -> Iterator[tuple[RouteStep, Schema]]:
    """Yields a pair for each field, element or map value of ``schema`` that ``step`` matches. The first item is the
    step of a route to this value, such as a field name. The second item is the schema of the value. A pattern can match
    several fields of a struct.
    """
    values, keyed = schema.values, has_text_keys(schema)
    if isinstance(step, str | Match):
        matches = _matches(step)
        for name, child in schema.fields:
            if matches(name):
                yield (name, child)
        # a schema does not list the keys of a map, so every name and pattern may match one
        if keyed and values is not None:
            yield (Key(step) if isinstance(step, str) else step), values
    elif isinstance(step, Index):
        if schema.type is Type.ARRAY and values is not None:
            yield step, values
    else:
        for step_down, child in _children(schema):
            if is_of(child, step):
                yield (step_down, child)


def has_text_keys(schema: Schema) -> bool:
    """Returns True if ``schema`` is a map with string keys, which a path can name."""
    return schema.type is Type.MAP and schema.keys is not None and schema.keys.type is Type.STRING


def _matches(step: str | Match) -> Callable[[str], bool]:
    if isinstance(step, str):
        return lambda name: name == step
    compiled = compile_java(step.java)
    return lambda name: compiled.search(name) is not None


def is_of(schema: Schema, step: Step) -> bool:
    """Returns True if a value of ``schema`` has the type that ``step`` selects. A step that selects no type, such as
    ``[*]``, matches every type.
    """
    if isinstance(step, OfType):
        return schema.logical is None and schema.type.name.lower() == step.type
    return not isinstance(step, OfLogical) or step.name in (schema.logical, schema.name)


def _known(schema: Schema, steps: tuple[Step, ...]) -> tuple[tuple[str, ...], str]:
    """Returns two items for an error message about a path without a match: the names that the user may have meant, and
    the name in the path that does not exist.

    The function follows ``steps`` in ``schema`` as long as each step matches exactly one value. For the path
    ``customer.nmae``, it returns the fields of ``customer``, and ``nmae``.
    """
    for number, step in enumerate(steps):
        following = [] if isinstance(step, Deep) else list(matching(schema, step))
        if len(following) != 1:
            names = schema.by_name if isinstance(step, str) else _names(schema)
            return tuple(names), _next_name(steps[number:])
        schema = following[0][1]
    return (), ""


def _next_name(steps: tuple[Step, ...]) -> str:
    for step in steps:
        if isinstance(step, str):
            return step
        if isinstance(step, Match):
            # the letters of the pattern, for suggestions of similar names: `e?mail\d` becomes `email`
            return re.sub(r"\W", "", re.sub(r"\\.", "", step.pattern))
    return ""


def _names(schema: Schema) -> dict[str, None]:
    """Returns all field names of ``schema``, at any depth."""
    names = dict.fromkeys(schema.field_names)
    for _, child in _children(schema):
        names.update(_names(child))
    return names
