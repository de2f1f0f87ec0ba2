"""Declares exceptions to a check. The check fails if a field, such as ``value.note``, contains the original of a value
that is masked in another field. An exception lists fields that may contain such originals, and the reason.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.extended import STEP, step_text
from dagster_smt.model.paths.steps import Deep, Every

_ELEMENT = r"(?:\[\])*"  # a path to an array also covers the fields of its elements


@dataclass(frozen=True)
class MaskException:
    """The fields that may contain the original of a value that is masked in another field.

    Attributes:
        fields: Paths of the extended syntax that begin with ``key`` or ``value``, or the path ``topic``. Only names,
            ``*`` and ``**`` are allowed. ``header.NAME`` is a header.
        reason: The reason, for readers of the chain.
    """

    fields: tuple[FieldPath, ...]
    reason: str

    @cached_property
    def _places(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_expression, self.fields)))

    def covers(self, place: str) -> bool:
        """Returns True if the exception covers the field ``place``, such as ``value.items[].id``, ``header[0] name``,
        ``key`` or ``topic``.
        """
        # an exception lists a header without its position: `header[0] trace` is covered by `header.trace`
        return self._places.fullmatch(re.sub(r"^header\[\d+\] ", "header.", place)) is not None


def _expression(path: FieldPath) -> str:
    expression = ""
    for number, step in enumerate(path.steps):
        if isinstance(step, Deep):
            expression += f"(?:{STEP}{_ELEMENT})*"
        elif isinstance(step, Every):
            expression += f"{STEP}{_ELEMENT}"
        else:
            expression += re.escape(step_text(step, number == 0)) + _ELEMENT
    return expression
