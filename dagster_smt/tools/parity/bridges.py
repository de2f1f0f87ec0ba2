"""Explains why two results for the same record differ, without running the case again."""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import DataError
from dagster_smt.tools.parity.as_kafka import WrittenConverter
from dagster_smt.tools.parity.compare import (
    COORDINATES,
    SIDES,
    alike,
    canonical_datum,
    canonical_java,
    canonical_record,
    free,
    java_schema_of,
    kind_of_result,
    load,
    result_difference,
)
from dagster_smt.tools.parity.datums import Converter, java_form, java_schema
from dagster_smt.tools.parity.spellings import spellings
from dagster_smt.transforms.kafka.cast import Cast
from dagster_smt.transforms.kafka.set_schema_metadata import SetSchemaMetadata
from dagster_smt.values.headers.literals import parse_simple_header, simple_header_bytes
from dagster_smt.values.json.lazy import whole
from dagster_smt.values.numbers import float_text, to_float32

SPARK = "spark"
"""The key that marks a result as one of the Spark evaluator."""
BYTES = "bytes"
"""The key of the bytes of a header, in the dict that describes this header in a result. The key is present if a stage
has set the header on Spark.
"""

Result = dict[str, Any]
_LOGICAL = "org.apache.kafka.connect.data."
_TOO_DEEP = "Converting Kafka Connect data to byte[] failed due to serialization error"
_GROUPS = (
    ("java.lang.IndexOutOfBoundsException", r"No group \d+", "SMT406"),
    (
        "java.lang.IllegalArgumentException",
        r"Illegal group reference|No group with name|capturing group name|character to be escaped is missing"
        r"|named capturing group is missing",
        "SMT406",
    ),
)
"""The Java exceptions that a replacement such as ``$2`` causes if the regular expression has no second group. Each
entry has the exception's class, its message (a regular expression), and our problem code.
"""
CRASHES = (
    ("HeaderFrom", "java.lang.NullPointerException", r"Field\.schema\(\)", "SMT102"),
    *((name, *group) for name in ("RegexRouter", "ByLogicalTableRouter", "EventRouter") for group in _GROUPS),
    ("EventRouter", "java.lang.ClassCastException", r"class java\.util\.Date cannot be cast", "SMT487"),
    ("HeaderToValue", "io.debezium.DebeziumException", r"is a primitive type, not a struct", "SMT201"),
    ("RegexRouter", "java.lang.NullPointerException", r'"this\.text" is null', "SMT407"),
    ("TimestampRouter", "java.lang.NullPointerException", r"", "SMT407"),
    ("TimestampConverter", "java.lang.NullPointerException", r'"config\.format" is null', "SMT421"),
)
"""The Java exceptions with which Kafka crashes on a record, where this package reports a problem. Each entry has the
transform, the exception's class, its message (a regular expression), and the problem's code.
"""
CONFIG_CRASHES = (
    ("ExtractField", "java.lang.IllegalArgumentException", r"fromIndex\(0\) > toIndex\(-1\)", "SMT014"),
    (
        "TimestampRouter",
        "java.lang.IllegalArgumentException",
        r"Illegal pattern character|Unterminated quote",
        "SMT013",
    ),
)
"""The Java exceptions with which Kafka crashes on the first record because of a wrong option. This package rejects the
option earlier, when it parses the chain.
"""
_MISLABELLED = (
    (
        "org.apache.kafka.connect.errors.DataException",
        r'Invalid Java object for schema "org\.apache\.kafka\.connect\.data\.',
    ),
    (
        "org.apache.kafka.connect.errors.DataException",
        r"Expected Timestamp to be a java\.util\.Date, but found class java\.lang\.",
    ),
    (
        "org.apache.kafka.connect.errors.DataException",
        r"Expected (Date|Time) to be a java\.util\.Date, but found class java\.lang\.",
    ),
    ("org.apache.kafka.connect.errors.SchemaBuilderException", r"Invalid default value"),
    ("java.lang.ClassCastException", r"cannot be cast to class java\.util\.Date"),
)


class Bridge:
    """Explains the difference between two results for the same record, without running the chain again. A call returns
    the ids of the intended differences, such as ``["D7"]``.
    """

    def __init__(self, case: dict[str, Any], chain: Chain | None):
        self.case, self.chain = case, chain
        self.converter = Converter(case.get("converter") or {})
        self.written = WrittenConverter(case.get("converter") or {})

    def __call__(self, number: int, want: Result, got: Result) -> list[str] | None:
        """Explains the difference between Kafka's result ``want`` and our result ``got`` for the record with the index
        ``number``.

        Returns the ids of the intended differences, such as ``["D7"]``. The list is empty if the results are equal.
        None means that nothing explains the difference.
        """
        if not result_difference(want, got):
            return []
        if kind_of_result(want) == "error":
            if "error" in got and self._crash(want["error"], got["error"]):
                return ["D2"]
            return None
        if "record" not in want or "record" not in got:
            return None
        a, b = want["record"], got["record"]
        decisions: list[str] = []
        if any(a.get(name) != b.get(name) for name in COORDINATES) or len(a["headers"]) != len(b["headers"]):
            return None
        pairs = []
        for side in SIDES:
            pairs.append((a[side], b[side]))
        for h, g in zip(a["headers"], b["headers"], strict=True):
            pairs.append((h["value"], g["value"]))
        spark = SPARK in got
        for place, (w, g) in enumerate(pairs):
            # the first two pairs are the key and the value
            header = b["headers"][place - 2] if place >= 2 else None
            if header is not None and header["key"] != a["headers"][place - 2]["key"]:
                return None
            ids = self._datum(number, w, g, spark, header)
            if ids is None:
                return None
            decisions += ids
        return decisions

    def _crash(self, want: dict[str, Any], got: dict[str, Any]) -> bool:
        if want["stage"] != got["stage"]:
            return False
        for *crash, code in CRASHES:
            if code == got["code"] and self._is(want, *crash):
                return True
        return False

    def crashes_into_config(self, want: Result, code: str) -> bool:
        """Returns True if Kafka's result ``want`` is a crash because of an option that this package rejects with the
        problem code ``code``.
        """
        if "error" not in want:
            return False
        for *crash, known in CONFIG_CRASHES:
            if code == known and self._is(want["error"], *crash):
                return True
        return False

    def _is(self, error: dict[str, Any], transform: str, class_: str, text: str) -> bool:
        type_ = str(self.case["config"].get(f"transforms.{error['stage']}.type", "")).rsplit(".", 1)[-1].split("$")[0]
        message = error["message"] or ""
        return type_ == transform and error["class"] == class_ and re.search(text, message) is not None

    def _datum(self, number: int, want: Any, got: Any, spark: bool, header: dict[str, Any] | None) -> list[str] | None:
        a, b = canonical_datum(want), canonical_datum(got)
        if a == b or alike(a, b, self._spelling(number)):
            return []
        # Kafka's datum is a null with a schema, which Spark returns without its schema
        if spark and b is None and a is not None and a[0] != "schemaless" and a[2] is None:
            return ["D6"]
        if header is not None and _fieldless(a, b) and b[1]["fields"] in self._struct_fields(number):
            return ["D2"]
        if want is not None and "unserialisable" in want:
            if self._same_java(want, got):
                return ["D4"]
            return self._mended(want, got)
        if not spark:
            return None
        if header is not None and self._same_bytes(want, header):
            return ["D6"]
        return self._scale(number, a, b)

    def _struct_fields(self, number: int) -> list[Any]:
        """Returns the fields of each struct in the schemas of the record with the index ``number``."""
        record = canonical_record(self.case["records"][number])
        schemas = [record["key"], record["value"], *(value for _, value in record["headers"])]
        fields = []
        for datum in schemas:
            if datum is not None and datum[0] == "schema":
                fields += [struct["fields"] for struct in _structs(datum[1])]
        return fields

    def _spelling(self, number: int) -> Any:
        """Returns a function that compares a value of Kafka (``want``) with one of ours (``got``). The returned
        function returns True if both values are spellings of the same float. But it always returns False if the chain
        casts no field to a string or to a 32-bit float.

        Kafka's results come from Java 17, which spells some floats differently from later versions.
        """
        text_of_record = repr(self.case["records"][number])

        def same(want: Any, got: Any) -> bool:
            if isinstance(want, str) and isinstance(got, str):
                # a string that the record already contains was not printed by a Cast, so it must be equal
                return self._prints("STRING") and f'"{want}"' not in text_of_record and want in spellings(got)
            if type(want) is not tuple or type(got) is not tuple or want[0] != "double" or got[0] != "double":
                return False
            single = to_float32(float(got[1]))
            texts = spellings(float_text(single, single=True))
            return (
                self._prints("FLOAT32")
                and float(got[1]) == float(float_text(single, True))
                and any(repr(float(text)) == want[1] for text in texts)
            )

        return same

    def _prints(self, target: str) -> bool:
        if self.chain:
            transforms = [stage.transform for stage in self.chain.stages]
        else:
            transforms = []
        for cast in transforms:
            if isinstance(cast, Cast):
                for _, t in cast.spec:
                    if t.name == target:
                        return True
        return False

    def _same_java(self, want: dict[str, Any], got: Any) -> bool:
        """Returns True if our key, value or header ``got`` equals Kafka's ``want``. JSON cannot express the value of
        ``want``, so ``want`` contains Java types, as in ``{"int64": 5}``.

        The scales of decimals may differ. The name of a logical type, such as Date, is ignored if the value is not of
        this type.
        """
        if want["unserialisable"].startswith(_TOO_DEEP):
            # Jackson writes at most 1,000 levels of nesting
            return got is not None and _depth(next(iter(got.values()))) > 1000
        try:
            schema, java = self._java(got)
        except DataError:  # the schema of the value does not fit the value
            envelope = (got or {}).get("envelope", '{"payload":null}')
            return bool(_plain(want["java"]) == free(load(envelope)["payload"]))
        want_schema = want.get("schema")
        if not _same_number(canonical_java(want["java"]), canonical_java(java)):
            return False
        if schema is None or want_schema is None:
            return schema is want_schema
        return _same_number(*(_drop_names(java_schema_of(text), want["java"]) for text in (want_schema, schema)))

    def _mended(self, want: dict[str, Any], got: Any) -> list[str] | None:
        """Returns ``["D2"]`` if Kafka's schema does not fit Kafka's value, and our result is the same value with a
        correct schema. Otherwise returns None.

        Args:
            want: Kafka's datum.
            got: Our datum.
        """
        if "schema" not in want or fits(load(want["schema"]), want["java"]):
            return None
        with suppress(DataError):
            _, java = self._java(got)
            if canonical_java(java) == canonical_java(want["java"]):
                return ["D2"]
        return None

    def _java(self, datum: Any) -> tuple[str | None, Any]:
        """Returns the schema (JSON text) and the value of ``datum``. The value names its Java type, as in
        ``{"int64": 5}``.
        """
        if datum is not None and "unserialisable" in datum:
            return datum.get("schema"), datum.get("java")
        schema, value = self.written.read(datum)
        return None if schema is None else java_schema(schema), java_form(schema, whole(value))

    def _same_bytes(self, want: Any, header: dict[str, Any]) -> bool:
        """Returns True if the bytes of ``header`` are equivalent to the bytes that Connect's converter writes for the
        header's value ``want``. The entries of a map may have a different order.
        """
        if BYTES not in header:
            return False
        try:
            # KeyError: Kafka's value cannot be written as JSON, so its datum has neither "schemaless" nor "envelope"
            data = simple_header_bytes(*self.converter.read(want))
        except (DataError, KeyError):
            return False
        same = parse_simple_header(data) == parse_simple_header(header[BYTES])
        return same or (data is not None and header[BYTES] is not None and unordered(data) == unordered(header[BYTES]))

    def _scale(self, number: int, want: Any, got: Any) -> list[str] | None:
        """Returns ``["D7"]`` if ``want`` and ``got`` differ only in trailing zeros of decimals, such as ``1.5`` and
        ``1.50``. Otherwise returns None. If the chain converts decimals to strings, strings may differ in the same way.
        """
        text_of_record = str(self.case["records"][number])
        # D7 explains only results of records with a decimal (decision 9)
        if "connect.data.Decimal" not in text_of_record:
            return None

        def same(a: Any, b: Any) -> bool:
            if isinstance(a, tuple) and isinstance(b, tuple):
                return a[0] == b[0] == "decimal" and _equal_decimals(a[1], b[1])
            printed = (
                isinstance(a, str) and isinstance(b, str) and self._prints("STRING") and f'"{a}"' not in text_of_record
            )
            return printed and _equal_decimals(a, b)

        if alike(want, got, same):
            return ["D7"]
        return None

    def mislabelled(self, number: int, want: Result) -> bool:
        """Returns True if Kafka's result ``want`` is a failure because of a wrong name in a schema. For example, a Cast
        of the whole value has changed the type from Date to string, but the schema still has the name Date.
        """
        if "error" not in want or self.chain is None:
            return False
        error = want["error"]
        known = any(error["class"] == c and re.search(t, error["message"] or "") for c, t in _MISLABELLED)
        return known and any(self._keeps_name(number, side, error["stage"]) for side in SIDES)

    def _keeps_name(self, number: int, side: str, stage: str) -> bool:
        assert self.chain is not None
        names = [s.alias for s in self.chain.stages]
        if stage in names:
            upto = self.chain.stages[: names.index(stage) + 1]
        else:
            upto = ()
        ours = []
        for s in upto:
            if s.side == side:
                ours.append(s.transform)
        casts = any(isinstance(t, Cast) and not t.casts for t in ours) and _LOGICAL in str(self.case["records"][number])
        transforms = []
        for t in ours:
            if isinstance(t, SetSchemaMetadata) and t.schema_name:
                transforms.append(t)
        return casts or any(str(t.schema_name).startswith(_LOGICAL) for t in transforms)


# a string in quotes, a single bracket or comma, or other characters up to the next of these
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|[^"{}\[\],]+')


def unordered(data: bytes) -> list[Any]:
    """Parses the JSON-like text ``data`` of a header into nested lists. The entries of maps are sorted, so two texts
    that differ only in their order give equal lists.
    """
    # for each open bracket, the stack has a list of its items, and each item is a list of pieces
    stack: list[list[Any]] = [[[]]]
    opened = ""
    for piece in _PIECE.findall(data.decode(errors="replace")):
        if piece in "{[":
            opened += piece
            stack.append([[]])
        elif piece in "}]" and opened:
            items, kind, opened = stack.pop(), opened[-1], opened[:-1]
            stack[-1][-1].append((kind, sorted(items, key=repr) if kind == "{" else items))
        elif piece == "," and opened:
            stack[-1].append([])
        else:
            stack[-1][-1].append(piece)
    return stack


def _fieldless(want: Any, got: Any) -> bool:
    """Returns True if two nulls differ only in their schemas: Kafka's schema, in ``want``, has an empty list of fields
    (``"fields": []``). Apart from the fields, our schema, in ``got``, is the same. Connect's ExtractNewRecordState
    returns such nulls.

    The caller must check that our fields are the fields of a struct in the record.
    """
    both = isinstance(want, tuple) and isinstance(got, tuple) and want[0] == got[0] == "schema"
    if not both or want[2] is not None or got[2] is not None or want[1].get("fields") != []:
        return False
    return {**got[1], "fields": []} == want[1]


def _structs(schema: Any) -> Iterator[dict[str, Any]]:
    """Yields each struct in ``schema``, a result of ``canonical_schema``; the schema itself may be a struct."""
    if not isinstance(schema, dict):
        return
    if schema["type"] == "struct":
        yield schema
    for part in [*schema.get("fields", ()), *(schema.get(name) for name in ("items", "keys", "values"))]:
        yield from _structs(part)


def fits(schema: dict[str, Any], java: Any) -> bool:
    """Returns True if the value ``java`` has the type of ``schema``. The value names its Java type, as in
    ``{"int64": 5}``.
    """
    if java is None:
        return bool(schema.get("optional"))
    if isinstance(java, dict):
        kind = next(iter(java))
    elif isinstance(java, str):
        kind = "string"
    else:
        kind = "boolean"
    if schema["type"] == "struct":
        fields = {}
        for field in schema["fields"]:
            fields[field["field"]] = field
        if kind != "struct" or [name for name, _ in java["struct"]] != list(fields):
            return False
        for name, value in java["struct"]:
            if not fits(fields[name], value):
                return False
        return True
    if schema["type"] == "array":
        return kind == "list" and all(fits(schema["items"], item) for item in java["list"])
    return kind not in ("struct", "list") and (kind == "string") is (schema["type"] == "string")


def _plain(java: Any) -> Any:
    """Converts ``java``, a value that names its Java type, into JSON without a schema. The result has the comparable
    form that ``compare.free`` returns. For example, ``{"list": [{"int64": 5}]}`` becomes ``[("int", "5")]``.
    """
    if not isinstance(java, dict):
        return java
    kind, value = next(iter(java.items()))
    if kind == "list":
        return [_plain(item) for item in value]
    if kind in ("map", "struct"):
        members = {}
        for k, v in value:
            members[str(k)] = _plain(v)
        return members
    if kind.startswith("float"):
        if math.isfinite(float(value)):
            return ("double", repr(float(value)))
        return value
    return ("int", str(value))


def _drop_names(schema: Any, java: Any) -> Any:
    """Returns ``schema`` without wrong names of logical types. For example, the name Date is removed from a field whose
    value in ``java`` is not a date.
    """
    if not isinstance(schema, dict):
        return schema
    kind = next(iter(java)) if isinstance(java, dict) else ""
    logical = str(schema.get("name", "")).startswith(_LOGICAL) and kind not in ("date_ms", "decimal")
    entries = {}
    for k, v in schema.items():
        if not (logical and k in ("name", "version")):
            entries[k] = v
    if logical and "parameters" in entries:
        parameters = {}
        for k, v in entries["parameters"].items():
            # the parameter ``scale`` belongs to the logical type Decimal
            if k != "scale":
                parameters[k] = v
        entries["parameters"] = parameters
        entries = {k: v for k, v in entries.items() if k != "parameters" or v}
    if kind == "struct" and "fields" in entries:
        values = dict(java["struct"])
        fields = []
        for f in entries["fields"]:
            fields.append(_drop_names(f, values.get(f.get("field"))))
        entries["fields"] = fields
    return entries


def _same_number(want: Any, got: Any) -> bool:
    """Returns True if two comparable values are equal. Decimals may differ in scale (``1.5``, ``1.50``), and integers
    in width (``int32``, ``int64``).
    """

    def same(a: Any, b: Any) -> bool:
        both = isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) == 2
        if not both or not isinstance(a[1], str) or not isinstance(b[1], str):
            return False
        # this package has only one width of integers for values without a schema
        integers = a[0].startswith("int") and b[0].startswith("int")
        return (a[0] == b[0] == "decimal" and _equal_decimals(a[1], b[1])) or (integers and a[1] == b[1])

    return alike(want, got, same)


def _equal_decimals(a: str, b: str) -> bool:
    try:
        return Decimal(a) == Decimal(b)
    except InvalidOperation:
        return False


def _depth(text: str) -> int:
    depth = most = 0
    # brackets inside strings do not count
    for char in re.sub(r'"[^"\\]*(?:\\.[^"\\]*)*"', "", text):
        depth += (char in "{[") - (char in "}]")
        most = max(most, depth)
    return most
