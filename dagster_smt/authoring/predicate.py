"""Defines ``Predicate``, the base class of all predicates."""

from typing import Any, ClassVar, Protocol

from dagster_smt.authoring.options import Options
from dagster_smt.authoring.transform import Example, Parts

PACKAGE = "org.apache.kafka.connect.transforms.predicates."


# conditions are classes of `effects.condition`, which imports `authoring`, so they cannot be imported here
class _Condition(Protocol):
    @property
    def reads(self) -> Parts: ...


class Predicate(Options):
    """A condition on a record, as in ``org.apache.kafka.connect.transforms.predicates.Predicate``.

    The class docstring says when the predicate is true. If the condition tests fields, it reads the value of the
    record, and is false if that value is null.
    """

    plugin: ClassVar[str] = "predicate"
    examples: ClassVar[tuple[Example, ...]] = ()
    """Records that illustrate the predicate, with ``true`` or ``false`` as ``after``."""

    def condition(self) -> Any:
        """Returns the condition of the predicate, as data (``effects.condition``).

        The rules in the condition must never fail.
        """
        raise NotImplementedError

    @property
    def reads(self) -> Parts:
        """The parts of a record that the predicate reads: ``value`` or ``key`` if it reads their fields, ``headers`` if
        it reads headers.
        """
        condition: _Condition = self.condition()
        return condition.reads
