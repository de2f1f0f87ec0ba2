"""Defines rules that convert values to strings, and rules that test strings. The strings are those of Java's
``toString`` and of Connect's ``Values.convertToString``.

Dates are written in UTC (difference D3). The entries of a map are written in the map's own order, not in the order of a
Java hash map (D4).
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.cell import Rule
from dagster_smt.model.runtime import kind_of_schema
from dagster_smt.model.schema import STRING, JavaDate, Schema, Type, optional
from dagster_smt.values.headers.literals import literal_text
from dagster_smt.values.java.dates import date_format
from dagster_smt.values.java.regex import Matches, compile_java, too_long
from dagster_smt.values.json.lazy import whole
from dagster_smt.values.needs import Needed
from dagster_smt.values.value_rule import PythonRule, ValueRule

_DATE = "EEE MMM dd HH:mm:ss zzz yyyy"
_CATALYST = ("string", "boolean", "int8", "int16", "int32", "int64", "float", "double")
_TEXT = optional(STRING)


def java_text(schema: Schema | None, value: Any) -> str:
    """Converts ``value`` to a string, as ``String.valueOf`` does.

    Args:
        schema: The value's schema; None if the value has no schema.
        value: The value.

    Raises:
        DataError: SMT455 if the value contains bytes, for which Java prints a memory address.
    """
    if isinstance(value, JavaDate):
        return date_format(_DATE).format(value)
    if isinstance(value, bytes):
        raise no_text()
    if value is None or isinstance(value, str | int | float | Decimal):
        return literal_text(schema, value)
    return _container(schema, whole(value))


def no_text() -> DataError:
    """Returns the error for bytes that a stage would have to convert to a string."""
    return data_error("SMT455", "bytes do not have the same text in every run", "leave the field out")


def _container(schema: Schema | None, value: Any) -> str:
    item = schema.values if schema else None
    if isinstance(value, list):
        return f"[{', '.join(java_text(item, element) for element in value)}]"
    if schema is not None and schema.type is Type.STRUCT:
        # ``Struct.toString`` leaves out fields that are null
        pairs = ((name, child, value.get(name)) for name, child in schema.fields)
        return f"Struct{{{','.join(f'{n}={java_text(c, v)}' for n, c, v in pairs if v is not None)}}}"
    keys = schema.keys if schema else None
    return f"{{{', '.join(f'{java_text(keys, k)}={java_text(item, v)}' for k, v in value.items())}}}"


@dataclass(frozen=True, slots=True)
class ChangeEntries(PythonRule):
    """A rule that changes entries of a map. ``entries`` contains pairs of a key and the rule for its value. If the map
    does not contain the key, the key is added with the value null.
    """

    entries: tuple[tuple[str, Rule], ...]

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        changed = {}
        for key, rule in self.entries:
            entry = value.get(key)
            changed[key] = None if entry is None else rule.python(entry)
        return {**value, **changed}


def is_blank(text: str) -> bool:
    """Returns True if ``text`` is blank according to Java's ``String.isBlank``. Unlike in Python, a text with a
    no-break space or U+0085 is not blank.
    """
    return all(char.isspace() and char not in "\u0085\u00a0\u2007\u202f" for char in text)


def has_bytes(schema: Schema) -> bool:
    """Returns True if values of ``schema`` may contain bytes."""
    if schema.type is Type.BYTES:
        return schema.logical is None
    return any(map(has_bytes, schema.children))


@dataclass(frozen=True, slots=True)
class JavaText(ValueRule):
    """A rule that returns the string of Java's ``toString`` for a value that contains no bytes. A null stays null."""

    schema: Schema
    returns: ClassVar[Schema | None] = _TEXT

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """False for strings, integers, floats and booleans, which Catalyst writes as Java does. True for all other
        types.
        """
        return kind_of_schema(self.schema) not in _CATALYST

    def python(self, value: Any) -> str | None:
        if value is None:
            return None
        return java_text(self.schema, value)

    def column(self, F: Any, value: Any) -> Any:
        return value.cast("string")


@dataclass(frozen=True, slots=True)
class StructText(ValueRule):
    """A rule that returns the string of Java's ``toString`` for a struct, such as ``Struct{id=7,name=Ann}``. A null
    stays null.

    The arguments are a constant that is not used, a flag that is null if the struct is null, and the strings of the
    struct's fields.
    """

    names: tuple[str, ...]
    returns: ClassVar[Schema | None] = _TEXT

    def python(self, _: Any, struct: Any, *texts: str | None) -> str | None:
        if struct is None:
            return None
        pairs = zip(self.names, texts, strict=True)
        return f"Struct{{{','.join(f'{name}={text}' for name, text in pairs if text is not None)}}}"

    def column(self, F: Any, _: Any, struct: Any, *texts: Any) -> Any:
        pairs = zip(self.names, texts, strict=True)
        parts = [F.concat(F.lit(f"{name}="), text) for name, text in pairs]  # the result is null if the string is null
        return F.when(struct.isNotNull(), F.concat(F.lit("Struct{"), F.concat_ws(",", *parts), F.lit("}")))


@dataclass(frozen=True, slots=True)
class LiteralText(ValueRule):
    """A rule that returns the string of ``Values.convertToString`` for a value.

    A null stays null. Inside a struct (``embedded``), a null becomes the string ``null``.
    """

    schema: Schema
    embedded: bool = False
    returns: ClassVar[Schema | None] = _TEXT

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """False if Catalyst writes the value exactly as Connect does.

        For example, a string inside a struct needs Python, because Connect quotes it.
        """
        kind = kind_of_schema(self.schema)
        return kind not in _CATALYST or (self.embedded and kind == "string")

    def python(self, value: Any) -> str | None:
        if value is None:
            if self.embedded:
                return "null"
            return None
        return literal_text(self.schema, value, embedded=self.embedded)

    def column(self, F: Any, value: Any) -> Any:
        text = value.cast("string")
        if self.embedded:
            return F.coalesce(text, F.lit("null"))
        return text


@dataclass(frozen=True, slots=True)
class LiteralStructText(ValueRule):
    """A rule that returns the string of ``Values.convertToString`` for a struct, such as ``{"id":7,"name":"Ann"}``.

    The arguments are a constant that is not used, a flag that is null if the struct is null, and the strings of the
    struct's fields.
    """

    names: tuple[str, ...]
    embedded: bool = False
    returns: ClassVar[Schema | None] = _TEXT

    def _heads(self) -> list[str]:
        return [literal_text(STRING, name, embedded=True) + ":" for name in self.names]

    def python(self, _: Any, struct: Any, *texts: str) -> str | None:
        if struct is None:
            if self.embedded:
                return "null"
            return None
        return "{" + ",".join(head + text for head, text in zip(self._heads(), texts, strict=True)) + "}"

    def column(self, F: Any, _: Any, struct: Any, *texts: Any) -> Any:
        parts = [F.concat(F.lit(head), text) for head, text in zip(self._heads(), texts, strict=True)]
        text = F.when(struct.isNotNull(), F.concat(F.lit("{"), F.concat_ws(",", *parts), F.lit("}")))
        if self.embedded:
            return F.coalesce(text, F.lit("null"))
        return text


@dataclass(frozen=True, slots=True)
class JoinTexts(ValueRule):
    """A rule that joins strings. For each null, it uses the string ``missing``."""

    delimiter: str
    missing: str
    returns: ClassVar[Schema | None] = _TEXT

    def python(self, *texts: str | None) -> str:
        return self.delimiter.join(self.missing if text is None else text for text in texts)

    def column(self, F: Any, *texts: Any) -> Any:
        return F.concat_ws(self.delimiter, *(F.coalesce(text.cast("string"), F.lit(self.missing)) for text in texts))


@dataclass(frozen=True, slots=True)
class ChangeCase(PythonRule):
    """A rule that converts a string to upper or lower case, by Unicode's language-independent rules. A null stays
    null.
    """

    upper: bool

    def python(self, text: str | None) -> str | None:
        if text is None:
            return None
        if self.upper:
            return text.upper()
        return text.lower()


@dataclass(frozen=True, slots=True)
class CaseOfText(PythonRule):
    """A rule that returns the string that Java prints for a value without a schema, in upper or lower case. A null
    stays null.
    """

    upper: bool

    def python(self, value: Any) -> str | None:
        if value is None:
            return None
        return ChangeCase(self.upper).python(java_text(None, value))


@dataclass(frozen=True, slots=True)
class Filled(Needed):
    """A rule that returns a string, and rejects null and the empty string."""

    def python(self, value: Any, *around: Any) -> Any:
        if not value:
            raise self.failure()
        return value

    def failed(self, F: Any, result: Any, value: Any, *around: Any) -> Any:
        return value.isNull() | (value == F.lit(""))


@dataclass(frozen=True, slots=True)
class FilledOrNull(ValueRule):
    """A rule that returns a string unchanged, or null if the string is empty."""

    def python(self, text: str | None) -> str | None:
        return text or None

    def column(self, F: Any, text: Any) -> Any:
        return F.when(text != F.lit(""), text)


@dataclass(frozen=True, slots=True)
class Otherwise(ValueRule):
    """A rule that returns the first string, or the second string if the first is null or empty."""

    def python(self, text: str | None, other: str | None) -> str | None:
        return text or other

    def column(self, F: Any, text: Any, other: Any) -> Any:
        return F.when(text != F.lit(""), text).otherwise(other)


@dataclass(frozen=True, slots=True)
class IsText(ValueRule):
    """A rule that returns True if a string is equal to ``text``. For null, the result is False."""

    text: str

    def python(self, text: str | None) -> bool:
        return text == self.text

    def column(self, F: Any, text: Any) -> Any:
        return F.coalesce(text == F.lit(self.text), F.lit(False))


@dataclass(frozen=True, slots=True)
class IsOneOf(ValueRule):
    """A rule that returns True if a string is one of the listed strings. For null, the result is False."""

    texts: tuple[str, ...]

    def python(self, text: str | None) -> bool:
        return text in self.texts

    def column(self, F: Any, text: Any) -> Any:
        return F.coalesce(text.isin(*self.texts), F.lit(False))


@dataclass(frozen=True, slots=True)
class Finds(PythonRule):
    """A rule that returns True if a pattern matches a part of the string (``Matcher.find``). For null, the result is
    False.
    """

    pattern: str

    def python(self, text: str | None) -> bool:
        return text is not None and compile_java(self.pattern).search(text) is not None

    def other_failures(self) -> tuple[Any, ...]:
        return (too_long(),)


@dataclass(frozen=True, slots=True)
class TextPasses:
    """A test of a value. It converts the value to the string that Connect would write into a header, and applies
    ``rule`` to this string.
    """

    rule: "IsText | Finds | Matches"

    def __call__(self, schema: Schema | None, value: Any) -> bool:
        return self.rule.python(None if value is None else literal_text(schema, value))
