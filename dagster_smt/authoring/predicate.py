"""What a predicate is."""

from typing import Any, ClassVar, Protocol

from dagster_smt.authoring.options import Options
from dagster_smt.authoring.transform import Example, Parts

PACKAGE = "org.apache.kafka.connect.transforms.predicates."


class _Condition(Protocol):
    @property
    def reads(self) -> Parts: ...


class Predicate(Options):
    """A condition on a record, as in ``org.apache.kafka.connect.transforms.predicates.Predicate``.

    The class docstring says when it is true. A condition on fields is about the value, and false where that is null.
    """

    plugin: ClassVar[str] = "predicate"
    examples: ClassVar[tuple[Example, ...]] = ()
    """Here ``after`` is ``true`` or ``false``."""

    def condition(self) -> Any:
        """Returns when it is true, as data (``effects.condition``). No rule in it may fail."""
        raise NotImplementedError

    @property
    def reads(self) -> Parts:
        """What it looks at: ``value`` or ``key`` if it is about fields, ``headers``."""
        condition: _Condition = self.condition()
        return condition.reads
