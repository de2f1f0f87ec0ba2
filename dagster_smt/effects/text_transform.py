"""``TextTransform``, the base class of transforms that apply a rule to strings."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.options import Names, option
from dagster_smt.authoring.transform import Transform
from dagster_smt.effects.effect import Change, Effect
from dagster_smt.effects.field_rule import FieldRule, Protection
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Rule
from dagster_smt.model.paths.connect import FieldPath

_WHOLE = FieldPath("", ())


@dataclass(frozen=True)
class TextField(FieldRule):
    """A field rule that changes the values of certain kinds, such as ``string``, and rejects all other values.

    Attributes:
        rule: The rule that changes a value. Its method ``TextRule.program`` describes the rule to the JVM lane (the
            Java code inside Spark).
        kinds: The kinds of values that the rule accepts.
        verb: A word for the action, such as ``masked`` in the message ``a value of type map cannot be masked``.
    """

    name = "text"
    rule: Any
    kinds: tuple[str, ...]
    verb: str

    @property
    def protection(self) -> Protection:
        """``seals`` if ``rule`` encrypts values with a key, ``opens`` if it decrypts such values, otherwise empty."""
        protection: Protection = self.rule.protection
        return protection

    def of_kind(self, kind: str) -> Rule:
        if kind not in self.kinds:
            hint = f"name a field of a type that can be: {', '.join(self.kinds)}; or cast it to string first"
            raise data_error("SMT742", f"a value of type {kind} cannot be {self.verb}", hint)
        rule: Rule = self.rule
        return rule


class TextTransform(NullDefaults, NestedPaths, Transform):
    """The base class of transforms that replace strings with other strings. A null stays null, and the ledger does not
    count it.
    """

    null = "pass"
    action: ClassVar[str] = "masked"
    """The word for the transform's action in the ledger (the part of a report that counts changed records)."""
    opens: ClassVar[bool] = False
    """True if the transform decrypts values that were encrypted with a key."""
    form: ClassVar[str] = ""
    """A word for the new value, such as ``token`` or ``encrypted``. The report of a run shows this word."""
    kinds: ClassVar[tuple[str, ...]] = ("string",)
    """The kinds of values that the transform accepts."""
    verb: ClassVar[str] = ""
    """A word for the action, such as ``masked`` in the message ``a value of type map cannot be masked``."""
    fields: Annotated[Names, by_syntax()] = option("Fields to change. If empty, the whole key or value is changed.", ())

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("fields", self.fields, self.path)

    @abstractmethod
    def rule(self, path: FieldPath) -> Any:
        """Returns the rule that computes the new string of the field at ``path`` from the old string."""

    def field_rule(self, path: FieldPath) -> FieldRule:
        """Returns the rule for the field at ``path``, which applies ``rule`` to values of ``kinds``."""
        return TextField(self.rule(path), self.kinds, self.verb)

    def effects(self) -> tuple[Effect, ...]:
        changes = []
        for path in tuple(map(self.path, self.fields)) or (_WHOLE,):
            changes.append(Change(path, self.field_rule(path), self.action, self.form, refuses_default=True))
        return tuple(changes)
