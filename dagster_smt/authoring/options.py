"""Declares the options of transforms and predicates, and parses the strings of a connector's properties.

Each option is a pydantic field. The key of an option is the attribute's name with dots for underscores. Strings are
parsed as by Kafka's ``ConfigDef``: they are trimmed, lists are split at commas, and booleans may be in any case.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticUndefined

from dagster_smt.model.java_text import trim
from dagster_smt.model.paths.connect import split_paths
from dagster_smt.values.numbers import parse_integer

# the separator of Kafka's `ConfigDef`; in Java, `\s` matches only ASCII characters
_COMMA = re.compile(r"\s*,\s*", re.ASCII)


def _text(value: Any) -> Any:
    """Returns ``value``, an option of ConfigDef's type STRING, trimmed. Numbers and booleans of YAML become strings."""
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return trim(value)
    return value


def _raw_text(value: Any) -> Any:
    """Returns ``value`` untrimmed if it is a string. Converts other values as ``_text`` does."""
    if isinstance(value, str):
        return value
    return _text(value)


def split_list(text: str) -> list[str]:
    """Splits ``text``, an option of ConfigDef's type LIST, at commas. Spaces around the items are removed."""
    text = trim(text)
    if text:
        return _COMMA.split(text)
    return []


class Split(tuple[Any, ...]):
    """The items of a list that has already been split. Later validators do not split it again."""

    __slots__ = ()


def path_items(value: Any, marks: str, version: str) -> Any:
    """Returns the items of ``value``, a list of paths. If ``marks`` is ``,``, an item is a string: ``a,b`` becomes
    ``("a", "b")``. If ``marks`` is ``,:``, an item is a tuple: ``a:b,c:d`` becomes ``(("a", "b"), ("c", "d"))``.
    """
    if isinstance(value, str):
        items = split_paths(value, ",", version, marks[1:]) if trim(value) else []
    else:
        items = item_texts(value)
        # a list in YAML must mean the same as its text in properties, where commas and blanks separate items
        for item in items:
            if split_paths(item, ",", version, marks[1:]) != [item]:
                raise ValueError(f"'{item}' has a comma, or blanks around it: put such names into backticks")
    if marks == ",":
        return Split(items)
    return Split(tuple(split_paths(item, marks[1], version)) for item in items)


def _plain_items(items: list[str] | tuple[str, ...]) -> None:
    """Raises an error if an item of ``items``, a YAML list, cannot be written in a connector's properties. Properties
    split a list at commas, and remove the spaces around items.
    """
    for item in items:
        if "," in item or item != trim(item):
            raise ValueError(f"'{item}' has a comma, or blanks around it, which Kafka's lists cannot hold")
    # in properties, this list would be an empty string, which is a list without items
    if list(items) == [""]:
        raise ValueError("the only item is empty")


def _names(value: Any) -> Any:
    if isinstance(value, Split):
        return tuple(value)
    if isinstance(value, str):
        return tuple(split_list(value))
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        _plain_items(value)
    return value


def java_split(text: str, mark: str) -> list[str]:
    """Splits ``text`` at ``mark`` as Java's ``String.split`` does, without empty parts at the end."""
    parts = text.split(mark)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def pair_items(value: Any, form: str) -> list[tuple[str, ...]]:
    """Returns the parts of each item in ``value``: ``"a:b,c:d"`` becomes ``[("a", "b"), ("c", "d")]``. In YAML,
    ``value`` may also be a mapping, or a list of strings and mappings.
    """
    if isinstance(value, Split):
        return list(value)
    if isinstance(value, str):
        items = split_list(value)
    else:
        items = item_texts(value, form)
        _plain_items(items)
    # as Kafka uses `String.split`, the item `a:` has one part, and `a:b:` has two
    return [tuple(java_split(item, ":")) for item in items]


def item_texts(value: Any, form: str = "old:new") -> list[str]:
    """Returns the items of ``value``, a YAML list, as strings. Pairs and mappings become ``a:b``."""
    items: list[str] = []
    # for a value of any other type, the loop below raises the error when it reaches the None
    listed: Any = [None]
    if isinstance(value, dict):
        listed = [value]
    elif isinstance(value, list | tuple):
        listed = value
    for item in listed:
        if isinstance(item, dict):
            for a, b in item.items():
                items.append(f"{a}:{b}")
        elif isinstance(item, list | tuple):
            items.append(":".join(map(str, item)))
        elif isinstance(item, str):
            items.append(item)
        else:
            raise ValueError(f"expected a list of {form} pairs")
    return items


def _pairs(value: Any) -> Any:
    pairs = []
    for pair in pair_items(value, "old:new"):
        # Kafka does not trim the parts of a pair: `a : b` renames the field `a ` to ` b`
        if len(pair) != 2 or not pair[1]:
            raise ValueError(f"'{':'.join(pair)}' is not a pair of the form old:new")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def _flag(value: Any) -> Any:
    if isinstance(value, str) and trim(value).lower() in ("true", "false"):
        return trim(value).lower() == "true"
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _int(value: Any) -> Any:
    if isinstance(value, str):
        value = parse_integer(trim(value), 32)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise ValueError("expected a whole number of 32 bits")
    return value


Text = Annotated[str, BeforeValidator(_text)]
RawText = Annotated[str, BeforeValidator(_raw_text)]
"""The type of a string option that is not trimmed. Debezium does not trim its options."""
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Pairs = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_pairs)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Int = Annotated[int, BeforeValidator(_int)]


def option(doc: str, default: Any = PydanticUndefined, **extra: Any) -> Any:
    """Declares an option of a transform or predicate, as a pydantic field.

    Args:
        doc: The option's description in the reference.
        default: The default; an option without a default is required.
        extra: Other arguments of pydantic's ``Field``.
    """
    return Field(default, description=doc, **extra)


def _item(item: Any) -> str:
    """Returns ``item`` of a list as a string. The parts of a pair are joined, and a Connect type is written as its
    name.
    """
    if isinstance(item, str):
        return item
    texts = []
    for part in item:
        if part is not None:
            texts.append(part if isinstance(part, str) else part.name.lower())
    return ":".join(texts)


class Options(BaseModel):
    """The base class of transforms and predicates, which are configured by options."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=lambda name: name.replace("_", "."), arbitrary_types_allowed=True
    )

    connect_class: ClassVar[str] = ""
    foreign: ClassVar[bool] = False
    """True for a class that runs from a jar."""
    references: ClassVar[tuple[str, ...]] = ()
    """The keys of options that accept references, such as ``${env:NAME}``. All other options reject references."""
    former_options: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The option keys of older versions of Kafka, each with its present key."""

    def check(self) -> Iterator[tuple[str, str, str]]:
        """Checks the options together, and yields a triple (option, statement, hint) for each problem. For example, two
        lists must have the same length. Subclasses override this method, which finds no problems.
        """
        return iter(())

    def configured(self) -> dict[str, Any]:
        """Returns the options that have been set, by key; tuples become lists."""
        values = self.model_dump(by_alias=True, exclude_unset=True)
        results = {}
        for k, v in values.items():
            results[k] = [_item(i) for i in v] if isinstance(v, tuple) else v
        return results

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """Returns all option keys, in the order of declaration."""
        names = []
        for n, f in cls.model_fields.items():
            names.append(f.alias or n)
        return tuple(names)
