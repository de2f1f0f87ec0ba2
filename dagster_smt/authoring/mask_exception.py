"""Where a value that a mask hides may stay, and why: said in the chain, read by the search for such values."""

import re
from dataclasses import dataclass
from functools import cached_property

from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.extended import STEP, step_text
from dagster_smt.model.paths.steps import Deep, Every

_ELEMENT = r"(?:\[\])*"  # a field in an array is named as if there were one of it


@dataclass(frozen=True)
class MaskException:
    """Fields in which masked values are no residue.

    Attributes:
        fields: Paths of the extended syntax that begin with ``key`` or ``value``, or are ``topic``; names, ``*`` and
            ``**`` only. ``header.NAME`` is a header.
        reason: Why they may stay: for people.
    """

    fields: tuple[FieldPath, ...]
    reason: str

    @cached_property
    def _places(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_expression, self.fields)))

    def covers(self, place: str) -> bool:
        """Whether a field (``value.items[].id``, ``header[0] name``, ``key``, ``topic``) is one of these."""
        return self._places.fullmatch(re.sub(r"^header\[\d+\] ", "header.", place)) is not None


def _expression(path: FieldPath) -> str:
    found = ""
    for number, step in enumerate(path.steps):
        if isinstance(step, Deep):
            found += f"(?:{STEP}{_ELEMENT})*"
        elif isinstance(step, Every):
            found += f"{STEP}{_ELEMENT}"
        else:
            found += re.escape(step_text(step, number == 0)) + _ELEMENT
    return found
