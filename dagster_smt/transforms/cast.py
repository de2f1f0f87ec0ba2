"""Cast: convert fields, or the whole key or value, to another primitive type."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from dagster_smt.authoring.bundles import by_syntax, check_paths
from dagster_smt.authoring.edit import Target, present, refused, struct_of
from dagster_smt.authoring.field_changes import FieldChange
from dagster_smt.authoring.on_paths import OnPaths
from dagster_smt.authoring.options import option, pair_items
from dagster_smt.authoring.schemaless import Act
from dagster_smt.authoring.transform import PACKAGE, AllFunction, Entry, Example, Planning, SideFunction, refuse
from dagster_smt.errors import DataError
from dagster_smt.model.cell import Cell, Node
from dagster_smt.model.extended_path import WHOLE
from dagster_smt.model.java_text import trim
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import BOXED, boxer, kind_of, kind_of_schema
from dagster_smt.model.schema import DECIMAL_SCALE, Schema, Type
from dagster_smt.values.cast import CASTABLE, TARGETS, CastTo
from dagster_smt.values.lazy import look
from dagster_smt.values.numbers import plain_floats

_TYPES = {t.name: t for t in TARGETS}


def _spec(value: Any) -> Any:
    """Items ``field:type``, or one bare type. The whole value has the field None."""
    items = pair_items(value, "field:type")
    if not items:
        raise ValueError("at least one field or type is needed")
    return tuple(map(_item, items))


def _item(item: tuple[str, ...]) -> tuple[str | None, Type]:
    parts = [trim(part) for part in item]
    if len(parts) > 2:
        raise ValueError(f"'{':'.join(item)}' is no pair of the form field:type")
    name = parts[-1].upper() if parts else ""
    if name not in _TYPES:
        raise ValueError(f"'{parts[-1] if parts else ''}' is no type to cast to; there are {', '.join(_TYPES).lower()}")
    return (parts[0] if len(parts) == 2 else None), _TYPES[name]


def _one_whole(spec: tuple[tuple[str | None, Type], ...]) -> Any:
    if len(spec) > 1 and any(name is None for name, _ in spec):
        raise ValueError("a type for the whole value must stand alone")
    return spec


Spec = Annotated[tuple[tuple[str | None, Type], ...], BeforeValidator(_spec), AfterValidator(_one_whole)]


class Cast(OnPaths):
    """Convert fields, or the whole key or value, to another primitive type.

    Numbers are narrowed as Java does it: integers keep their low bits, floats are cut off and saturate. Texts must be
    numbers in Java's spelling; any text but `true` is false. Dates count in days or milliseconds. Bytes become Base64
    text. A cast field keeps optionality and default, and loses name, version, doc and parameters.
    A null key or value passes; a null field stays null; without a schema a missing field becomes null.
    """

    connect_class = PACKAGE + "Cast"
    purpose = "cast types"
    null = "pass"
    fills = True
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
    def texts(self) -> tuple[str, ...]:
        return tuple(self.casts)

    @property
    def casts(self) -> dict[str, Type]:
        """Targets by field name; the last one wins."""
        return {name: target for name, target in self.spec if name is not None}

    def ledger(self) -> tuple[Entry, ...]:
        if not self.casts:
            return (Entry("cast", WHOLE, self.spec[0][1].name.lower()),)
        return tuple(Entry("cast", name, target.name.lower()) for name, target in self.casts.items())

    def plan_side(self, node: Node, at: Planning) -> Node:
        if not self.casts:
            at.touch(0, present(node))
            return _cast(node, self.spec[0][1], keep=True)
        if struct_of(node, self.purpose).schema.default is not None:
            raise refuse("SMT205", "a struct with a default value cannot be cast", "drop the default")
        return super().plan_side(node, at)

    def changed(self, target: Target) -> Node:
        return _cast(target.node, tuple(self.casts.values())[target.number])

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        return super().schemaless(bits) if self.casts else _whole(_caster(self.spec[0][1]), bits[0])

    def schemaless_all(self, bits: tuple[int, ...]) -> AllFunction | None:
        return super().schemaless_all(bits) if self.casts else None

    def field_changes(self, bits: tuple[int, ...]) -> tuple[FieldChange, ...] | None:
        return super().field_changes(bits)  # ``schemaless`` has a way of its own for whole values alone

    def values_function(self, number: int, kind: str) -> Callable[[list[Any]], list[Any]] | None:
        target = tuple(self.casts.values())[number]
        rule = CastTo(kind, target)
        if target not in BOXED:
            return rule.bind_many()
        one, boxed = rule.bind(), boxer(target)
        if (kind, target) == ("string", Type.FLOAT64):  # plain numbers are finite, and need no box
            return lambda values: plain_floats(values) or [boxed(one(value)) for value in values]
        return lambda values: [boxed(one(value)) for value in values]

    def acts(self, bits: tuple[int, ...]) -> tuple[Act, ...]:
        return tuple(_in_place(_caster(t), bit) for t, bit in zip(self.casts.values(), bits, strict=True))


def _in_place(convert: Callable[[Any], Any], bit: int) -> Act:
    def cast(parent: Any, key: Any, record: Record) -> None:
        old = look(parent, key)
        if old is not None:
            parent[key] = convert(old)
            record.touched |= bit

    return cast


def _whole(convert: Callable[[Any], Any], bit: int) -> SideFunction:
    def cast(value: Any, record: Record) -> Any:
        record.touched |= bit
        return convert(value)

    return cast


def _caster(target: Type) -> Callable[[Any], Any]:
    """A function that casts any schemaless value; it keeps one rule per kind of value it has met."""
    rules: dict[type, Callable[[Any], Any]] = {}
    boxed = boxer(target) if target in BOXED else None

    def convert(value: Any) -> Any:
        rule = rules.get(type(value))
        if rule is None:
            kind = kind_of(value)
            if kind not in CASTABLE or kind in ("Decimal", "Timestamp"):
                raise DataError(refuse("SMT204", f"a value of type {kind} cannot be cast").problems)
            rule = rules[type(value)] = CastTo(kind, target).bind()
        return rule(value) if boxed is None else boxed(rule(value))

    return convert


def _without_logical(schema: Schema) -> Schema:
    """A schema without what makes it a date or a Decimal (difference D2: Kafka leaves the name on the new type)."""
    if schema.logical is None:
        return schema
    kept = tuple(pair for pair in schema.parameters if pair[0] != DECIMAL_SCALE)
    return schema.with_(name=None, version=None, parameters=kept)


def _cast(node: Node, target: Type, keep: bool = False) -> Node:
    """Cast a node. ``keep``: the whole value keeps name, version, doc and parameters."""
    schema, kind = node.schema, kind_of_schema(node.schema)
    if schema.default is not None and kind not in CASTABLE:
        raise refuse("SMT204", f"the default value is of type {kind}, which cannot be cast", "drop the default")
    if not isinstance(node, Cell) or kind not in CASTABLE:
        statement = f"a value of type {kind} cannot be cast"
        return refused(node, "SMT204", statement, "cast its fields, or drop it", Schema(target, schema.optional))
    rule = CastTo(kind, target)
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
