"""ByLogicalTableRouter: one topic for the change events of several tables."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from dagster_smt.authoring.copying import copied_fields
from dagster_smt.authoring.fields.edit import clash, struct_of
from dagster_smt.authoring.options import Flag, Int, RawText, Text, option
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction, refuse
from dagster_smt.authoring.validate import AnyCase, RawRegex, one_of
from dagster_smt.effects.code import Code, CodeTransform
from dagster_smt.errors import DATA_EXCEPTION, PlanError, data_error
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, with_fields
from dagster_smt.model.java_text import trim
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.schema import STRING, Schema
from dagster_smt.transforms.debezium.events.avro_names import AVRO, AVRO_UNICODE, NONE, adjusted_name
from dagster_smt.transforms.debezium.events.examples import event
from dagster_smt.transforms.debezium.events.shape import NULL_POINTER, TRUE, image, new_schema, no_variant
from dagster_smt.transforms.debezium.events.values import LogicalTopic, Rerouted, is_change_event
from dagster_smt.values.java.regex import ReplaceIfMatches


@dataclass(frozen=True)
class _NullEvent:
    """A variant (an object that selects the plan for a record) for records of ``topic`` whose value is null. Although
    the value is null, its schema can be the schema of a change event.
    """

    topic: str


class ByLogicalTableRouter(CodeTransform):
    """Send the change events of several tables, such as shards, to one topic, and keep their keys distinct.

    As in RegexRouter, `topic.regex` must match the whole topic. Its first match in the topic is then replaced with
    `topic.replacement`. If the expression does not match, or if the new topic would be empty, the record passes through
    unchanged. Otherwise the key, which must be a struct or null, gets a field with the old topic. The schemas of the
    key (`.Key`), of the event (`.Envelope`) and of its row (`.Value`) are named after the new topic. Tombstones and
    values that are not change events stay as they are.

    Debezium caches each new schema under the old schema. If two topics have equal schemas and different new topics, the
    schemas of both get names derived from the first topic. Here, the names of schemas are derived from the topic of
    each record (decision 13). In a table of columns (one column for each field of the value) that reads several topics,
    the schemas keep their names. If the records of this table have keys, a record whose topic does not match is
    rejected.
    """

    connect_class = "io.debezium.transforms.ByLogicalTableRouter"
    sided = False
    plans_key_alone = True
    purpose = "routing by logical table"
    topic_regex: RawRegex = option("The regular expression that must match the whole topic.")
    topic_replacement: RawText = option("The replacement; `$1` and `${name}` stand for groups.")
    key_enforce_uniqueness: Flag = option("If `true`, the key gets a field with the old topic.", True)
    key_field_name: RawText = option("Name of the key's field for the old topic.", "__dbz__physicalTableIdentifier")
    key_field_regex: RawRegex = option(
        "If this expression matches the whole old topic, its first match is replaced in the key's field.", ""
    )
    key_field_replacement: RawText = option("The replacement for `key.field.regex`.", "")
    schema_name_adjustment_mode: Annotated[Text, one_of(NONE, AVRO, AVRO_UNICODE), AnyCase] = option(
        "How schema names are adjusted to Avro's rules: `none`, `avro` or `avro_unicode`.", NONE
    )
    logical_table_cache_size: Int = option("Has no effect, because this package has no cache.", 16)
    examples = (
        Example(
            "shards of a table",
            {"topic.regex": "(.*)customers_shard(.*)", "topic.replacement": "$1customers_all_shards"},
            "myserver.mydb.customers_shard1",
            "myserver.mydb.customers_all_shards",
            shows="topic",
        ),
        Example(
            "where the key comes from",
            {
                "topic.regex": "(orders)",
                "topic.replacement": "all-$1",
                "key.field.name": "from",
                "key.field.regex": "or(.*)",
                "key.field.replacement": "$1",
            },
            '{"schema":{"type":"struct","fields":[{"field":"id","type":"int32"}]},"payload":{"id":7}}',
            '{"schema":{"type":"struct","name":"all-orders.Key","fields":[{"field":"id","type":"int32"},'
            '{"field":"from","type":"string"}]},"payload":{"id":7,"from":"ders"}}',
            shows="key",
        ),
        Example(
            "the schema of an event",
            {"topic.regex": "orders", "topic.replacement": "all"},
            event("c", None, {"id": 7, "name": "Ann"}),
            event("c", None, {"id": 7, "name": "Ann"}, "all"),
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        for key, text in (("topic.regex", self.topic_regex), ("topic.replacement", self.topic_replacement)):
            if not trim(text):
                yield key, "the text is empty", "set the option; it is required"
        if trim(self.key_field_regex) and not trim(self.key_field_replacement):
            yield "key.field.replacement", "the text is empty", "key.field.regex needs it"

    def effects(self) -> tuple[Code, ...]:
        entries = [Entry("routed", self.topic_regex, self.topic_replacement, "topic")]
        if self.key_enforce_uniqueness:
            entries.append(Entry("added", self.key_field_name, "topic", "key"))
        return (Code(tuple(entries), frozenset({"key", "value"})),)

    def variant(self, record: Record) -> Hashable:
        """Returns the topic of ``record``. Records of different topics need different plans (a plan is the output
        schema, computed before records are read). The names of output schemas contain the new topic: ``all.Value`` for
        the new topic ``all``.
        """
        return record.topic

    def narrower(self, record: Record) -> Hashable:
        """Returns a variant (an object that selects a plan, the output schema for some records) if the value of
        ``record`` is null, else None.

        The code that runs the chain calls this method if the value's schema lacks a part of a change event. For a null
        value, the plan does not need this part: there is no row whose schema would get a new name.
        """
        if record.value is None and record.topic is not None:
            return _NullEvent(record.topic)
        return None

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        topic, expr = record.topic, record.topic.expr
        known = self._known(at.variant, expr)
        if known is None:
            return self._of_any_topic(record, at)
        new = self._rule().new_topic(known)
        if new is None:
            return record
        at.touch(0, TRUE)
        origin = Cell(STRING, Const(self._origin(known), STRING), topic.sources)
        routed = Cell(STRING, Const(new, STRING), topic.sources)
        return self._renamed(replace(record, topic=routed), origin, new, at)

    def _known(self, variant: Hashable, topic: Expr) -> str | None:
        """Returns the topic of the records for which the stage is planned: the topic in ``variant``, or else the value
        of the expression ``topic`` if it is a constant. Returns None if the same plan (output schema) must serve
        records of any topic.
        """
        if isinstance(variant, _NullEvent):
            return variant.topic
        if isinstance(variant, str):
            return variant
        if isinstance(topic, Const):
            return topic.value
        return None

    def _of_any_topic(self, record: PlanRecord, at: Planning) -> PlanRecord:
        topic, keyed = record.topic, record.key is not None
        at.touch(0, Call(Rerouted(self.topic_regex, self.topic_replacement), (topic.expr,)))
        # strict with keys: a record that keeps its topic would have a key of another schema, and columns have only one
        routed = replace(record, topic=topic.call(self._rule(keyed), STRING))
        if not keyed:
            return routed
        rule = ReplaceIfMatches(self.key_field_regex, self.key_field_replacement)
        try:
            return self._renamed(routed, topic.call(rule, STRING) if self._finds_origin else topic, None, at)
        except PlanError:  # not every record fails, because records whose topic does not match pass through unchanged
            raise no_variant("topic", "route by the name of the topic only, before this stage") from None

    def _rule(self, strict: bool = False) -> LogicalTopic:
        return LogicalTopic(self.topic_regex, self.topic_replacement, strict)

    @property
    def _finds_origin(self) -> bool:
        return bool(trim(self.key_field_regex))

    def _origin(self, topic: str) -> str:
        if not self._finds_origin:
            return topic
        return ReplaceIfMatches(self.key_field_regex, self.key_field_replacement).python(topic)

    def _renamed(self, record: PlanRecord, origin: Cell, topic: str | None, at: Planning) -> PlanRecord:
        if record.key is not None:
            # as in Debezium, a null key loses its schema
            record = replace(record, key=self._key(record.key, origin, topic, at), null_key=None)
        if "value" in at.free or isinstance(at.variant, _NullEvent):
            value = None
        else:
            value = record.value
        if value is None or not is_change_event(value.schema):
            return record
        # a null value keeps its old schema: it has no row whose schema would get a new name
        return replace(record, value=self._event(value, topic), null_value=value.schema)

    def _key(self, key: Node, origin: Cell, topic: str | None, at: Planning) -> Group:
        group = struct_of(key, self.purpose)
        fields = copied_fields(group, False, group.fields)
        if self.key_enforce_uniqueness:
            if self.key_field_name in group.by_name:
                raise clash(self.key_field_name)
            fields = (*fields, (self.key_field_name, origin))
            at.touch(1, group.present)
        return with_fields(group, fields, self._with_name(group, topic, "Key"))

    def _event(self, value: Node, topic: str | None) -> Group:
        event = struct_of(value, self.purpose)
        before = image(event, "before", self.purpose, NULL_POINTER)
        if "after" in event.by_name:
            after = image(event, "after", self.purpose)
        else:
            after = before
        if before.schema.fields != after.schema.fields:
            statement = "the rows before and after the change have different schemas"
            raise refuse("SMT472", statement, "check which topics the stage is for", DATA_EXCEPTION)
        schema = self._with_name(before, topic, "Value")
        rows = {}
        for n, r in (("before", before), ("after", after)):
            rows[n] = with_fields(r, copied_fields(r, False, r.fields), schema)
        fields = tuple((name, rows.get(name, child)) for name, child in event.fields)
        return with_fields(event, copied_fields(event, True, fields), self._with_name(event, topic, "Envelope"))

    def _with_name(self, group: Group, topic: str | None, suffix: str) -> Schema:
        name = f"{topic}.{suffix}" if topic is not None else None
        if name is None:
            adjusted = group.schema.name
        else:
            adjusted = adjusted_name(name, self.schema_name_adjustment_mode)
        return new_schema(group).with_(optional=group.schema.optional, name=adjusted)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        rule = self._rule()

        def route(value: Any, record: Record) -> None:
            new = rule.new_topic(record.topic)
            if new is None:
                return
            if record.key is not None:
                statement = f"the key has no schema, but [{self.purpose}] needs one"
                raise data_error("SMT482", statement, "choose a format with schemas for the keys")
            record.topic = new
            record.touched |= bits[0]

        return route
