"""Foreign transforms and predicates as parts of a stage. They are Kafka Connect classes that run from their jars. Each
transform or predicate of this kind contains the class name, and the options as the user wrote them.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from dagster_smt.authoring.options import item_texts
from dagster_smt.authoring.transform import Entry, Parts
from dagster_smt.effects.code import Code, CodePredicate, CodeTransform

ANY = "(any field)"
"""The path in the ledger for changes by a foreign stage (a Java class). The ledger counts the records in which the
stage changed any field, because the fields are not known before the run.
"""
_HIDING = ("mask", "hash", "encrypt", "cipher", "redact", "anonymi", "tokeni", "pseudonym", "obfuscat")
"""Parts of class names, in lower case. A class whose name contains one of them probably hides values."""
_PARTS: Parts = frozenset({"key", "value", "metadata", "timestamp_type", "headers"})


class ForeignTransform(CodeTransform):
    """A transform of Kafka Connect that runs from its jar.

    Nothing is known about the transform before it runs: it may read and change every part of a record.
    """

    sided = False
    foreign = True
    written: tuple[tuple[str, str], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return foreign_transform, (self.connect_class, self.written)

    def configured(self) -> dict[str, Any]:
        return dict(self.written)

    @property
    def hides(self) -> bool:
        """True if the name of the class indicates that the transform hides values."""
        name = self.connect_class.rpartition(".")[2].lower()
        return any(word in name for word in _HIDING)

    def effects(self) -> tuple[Any, ...]:
        action = "masked" if self.hides else "changed"
        return (Code((Entry(action, ANY, explicit=False),), _PARTS, frozenset({"timestamp", "partition"})),)


class ForeignPredicate(CodePredicate):
    """A predicate of Kafka Connect that runs from its jar."""

    foreign = True
    written: tuple[tuple[str, str], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return foreign_predicate, (self.connect_class, self.written)

    def configured(self) -> dict[str, Any]:
        return dict(self.written)

    @property
    def reads(self) -> Parts:
        return _PARTS


@cache
def _class(base: type[Any], connect_class: str) -> type[Any]:
    # ``$`` separates an inner class such as Cast$Value, and is not allowed in Python's names
    name = connect_class.rpartition(".")[2].replace("$", "_")
    return type(name, (base,), {"connect_class": connect_class, "__module__": __name__, "__doc__": base.__doc__})


def foreign_transform(connect_class: str, written: tuple[tuple[str, str], ...] = ()) -> ForeignTransform:
    """Returns the transform that runs the class ``connect_class``, with its options as strings."""
    transform: ForeignTransform = _class(ForeignTransform, connect_class)(written=written)
    return transform


def foreign_predicate(connect_class: str, written: tuple[tuple[str, str], ...] = ()) -> ForeignPredicate:
    """Returns the predicate that runs the class ``connect_class``, with its options as strings."""
    predicate: ForeignPredicate = _class(ForeignPredicate, connect_class)(written=written)
    return predicate


def option_texts(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns ``options`` as strings, in the spelling of properties files. In YAML, options may be numbers, booleans,
    lists and mappings.
    """
    texts = []
    for key, value in options.items():
        # an option without a value in YAML; properties files cannot express it
        if value is None:
            continue
        if isinstance(value, bool):
            text = str(value).lower()
        elif isinstance(value, dict | list | tuple):
            text = ",".join(item_texts(value))
        else:
            text = str(value)
        texts.append((str(key), text))
    return tuple(texts)
