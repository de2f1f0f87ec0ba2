"""Paths that lead below the top level, as bits: which names and elements each of their steps lets pass.

Each step but ``**`` is a bit. In a container some bits are active; a member passes those that its name passes. A path
that ends there has found the member. The others go on: the next bit is active inside the member; a bit after ``**``
stays active at every level below.
"""

from dataclasses import dataclass, field

from dagster_smt.model.path import FieldPath
from dagster_smt.model.path_steps import Deep, Every, Index, Match, Step
from dagster_smt.values.java_regex import compile_java

LARGEST = 30
"""The largest index of an element that a path may name."""


@dataclass
class Paths:
    """The paths of a program.

    Attributes:
        steps: By bit.
        first: The bits that are active at the top level.
        final: The bits that end a path.
        sticky: The bits after ``**``.
    """

    steps: list[Step] = field(default_factory=list)
    first: int = 0
    final: int = 0
    sticky: int = 0

    def add(self, path: FieldPath) -> int | None:
        """Add a path; the number of its last bit. None: it has steps of another kind."""
        begin, deep = len(self.steps), False
        for step in path.steps:
            if isinstance(step, Deep):
                deep = True
                continue
            if not isinstance(step, str | Every | Match) and not (
                isinstance(step, Index) and 0 <= step.number < LARGEST
            ):
                return None
            self.sticky |= deep << len(self.steps)
            self.steps.append(step)
            deep = False
        if deep or begin == len(self.steps):
            return None
        self.first |= 1 << begin
        self.final |= 1 << len(self.steps) - 1
        return len(self.steps) - 1

    def of_name(self, name: str) -> int:
        """The bits that a member passes."""
        return sum(1 << bit for bit, step in enumerate(self.steps) if _passes(step, name))

    def of_element(self, number: int) -> int:
        """The bits that an element of an array passes."""
        wanted = Index(number)
        return sum(1 << bit for bit, step in enumerate(self.steps) if step == wanted or isinstance(step, Every))

    def of_elements(self) -> list[int]:
        """The same for the first elements; the last one stands for all after it."""
        return list(map(self.of_element, range(LARGEST + 1)))

    def at_top(self, name: str) -> int:
        """The active bits that a member of the top level passes."""
        return self.first & self.of_name(name)


def _passes(step: Step, name: str) -> bool:
    if isinstance(step, Match):
        return compile_java(step.java).search(name) is not None
    return isinstance(step, Every) or step == name
