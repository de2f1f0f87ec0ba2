"""Cast: convert fields, or the whole key or value, to another primitive type."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.fields.edit import Target, refused
from dagster_smt.authoring.options import option, pair_items
from dagster_smt.authoring.transform import PACKAGE, Example, Transform, refuse
from dagster_smt.effects.effect import Change, Effect
from dagster_smt.effects.field_rule import FieldRule
from dagster_smt.errors import DataError, data_error
from dagster_smt.model.cell import Cell, Node
from dagster_smt.model.java_text import trim
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.runtime import kind_of_schema
from dagster_smt.model.schema import DECIMAL_PRECISION, DECIMAL_SCALE, Schema, Type
from dagster_smt.values.cast import CASTABLE, TARGETS, CastBoxed, CastTo

_TYPES = {t.name: t for t in TARGETS}


def _spec(value: Any) -> Any:
    """Converts items into pairs: ``amount:int32`` becomes ``("amount", Type.INT32)``. An item without a field, such as
    ``int32``, applies to the whole key or value: the first item of its pair is None.
    """
    items = pair_items(value, "field:type")
    if not items:
        raise ValueError("the list is empty; it needs at least one field or type")
    return tuple(map(_item, items))


def _item(item: tuple[str, ...]) -> tuple[str | None, Type]:
    # Kafka trims both parts; it does not trim the parts of `renames` in ReplaceField
    parts = [trim(part) for part in item]
    if len(parts) > 2:
        raise ValueError(f"'{':'.join(item)}' is not a pair of the form field:type")
    name = parts[-1].upper() if parts else ""
    if name not in _TYPES:
        raise ValueError(f"'{parts[-1] if parts else ''}' is not a target type; there are {', '.join(_TYPES).lower()}")
    return (parts[0] if len(parts) == 2 else None), _TYPES[name]


def _one_whole(spec: tuple[tuple[str | None, Type], ...]) -> Any:
    if len(spec) > 1 and any(name is None for name, _ in spec):
        raise ValueError("a type for the whole value must be the only item")
    return spec


Spec = Annotated[tuple[tuple[str | None, Type], ...], BeforeValidator(_spec), AfterValidator(_one_whole)]


@dataclass(frozen=True)
class CastField(FieldRule):
    """A rule that casts a value to another primitive type."""

    name = "cast"
    target: Type
    field: str = ""

    def of_kind(self, kind: str) -> CastBoxed:
        # decimals and timestamps can only be cast if they have a schema
        if kind not in CASTABLE or kind in ("Decimal", "Timestamp"):
            raise data_error("SMT204", f"a value of type {kind} cannot be cast")
        return CastBoxed(kind, self.target, self.field)

    def on_node(self, target: Target) -> Node:
        return _cast(target.node, self.target, keep=target.whole, field=self.field)


class Cast(NullDefaults, NestedPaths, Transform):
    """Convert fields, or the whole key or value, to another primitive type.

    Numbers are narrowed as in Java. Integers keep their low bits: 300 becomes the int8 44. Floats first lose their
    fraction, and a float that is too large becomes the largest int32 or int64. A string that is cast to a number must
    be a number in Java's syntax. A string that is cast to a boolean becomes false unless it is `true`. Dates become
    numbers of days or milliseconds. Bytes become Base64 strings.

    The schema of a cast field stays optional or required, and keeps its default. The schema loses its name, version,
    doc and parameters. A null key or value passes through unchanged, and a null field stays null. Without a schema, a
    missing field becomes null.
    """

    connect_class = PACKAGE + "Cast"
    purpose = "cast types"
    null = "pass"
    spec: Annotated[Spec, by_syntax(",:")] = option(
        "Pairs `field:type`, or one type for the whole value. Types: `int8`, `int16`, `int32`, `int64`, `float32`, "
        "`float64`, `boolean`, `string`."
    )
    examples = (
        Example("two fields", {"spec": "n:string,x:int32"}, '{"n":7,"x":3.9}', '{"n":"7","x":3}'),
        Example("the whole value", {"spec": "string"}, "1.5", '"1.5"'),
        Example(
            "a nested field",
            {"spec": "order.total:float64", "field.syntax.version": "V2"},
            '{"order":{"total":"7.50","id":1}}',
            '{"order":{"total":7.5,"id":1}}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("spec", self.casts, self.path)

    @property
    def casts(self) -> dict[str, Type]:
        """The target types by field name. If a name has several pairs, the last one wins."""
        results = {}
        for name, target in self.spec:
            if name is not None:
                results[name] = target
        return results

    def effects(self) -> tuple[Effect, ...]:
        if not self.casts:
            target = self.spec[0][1]
            return (_change(FieldPath("", ()), target),)
        return tuple(_change(self.path(name), target) for name, target in self.casts.items())


def _change(path: FieldPath, target: Type) -> Change:
    return Change(path, CastField(target, path.text), "cast", target.name.lower(), fills=True, refuses_default=True)


def _without_logical(schema: Schema) -> Schema:
    """Returns ``schema`` without the name that makes it a date or a Decimal, and without its version. In Kafka, the
    cast field would keep this name (difference D2).
    """
    if schema.logical is None:
        return schema
    others = []
    for pair in schema.parameters:
        if pair[0] not in (DECIMAL_SCALE, DECIMAL_PRECISION):
            others.append(pair)
    parameters = tuple(others)
    return schema.with_(name=None, version=None, parameters=parameters)


def _cast(node: Node, target: Type, keep: bool = False, field: str = "") -> Node:
    """Returns ``node`` cast to the type ``target``. With ``keep``, which is set for a whole key or value, the schema
    keeps its name, version, doc and parameters.
    """
    schema, kind = node.schema, kind_of_schema(node.schema)
    # Connect casts the default when it builds the new schema, so that even a null fails
    if schema.default is not None and kind not in CASTABLE:
        raise refuse("SMT204", f"the default value is of type {kind}, which cannot be cast", "drop the default")
    if not isinstance(node, Cell) or kind not in CASTABLE:
        statement = f"a value of type {kind} cannot be cast"
        return refused(node, "SMT204", statement, "cast its fields, or drop it", Schema(target, schema.optional))
    rule = CastTo(kind, target, field)
    default = None
    if schema.default is not None:
        try:
            default = rule.python(schema.default)
        except DataError as error:
            statement = "the default value cannot be cast: " + error.problem.statement
            raise refuse(error.problem.code, statement, "change the default in the schema") from None
    after = Schema(target, schema.optional, default=default)
    if keep:
        after = _without_logical(schema).with_(type=target, default=default)
    return node.call(rule, after, nullable=node.nullable)
