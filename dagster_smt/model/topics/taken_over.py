"""The note about a table that runs took over from a connector of Kafka Connect, or gave back to the connector."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagster_smt.model.windows.offsets import OffsetSet


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A part of a table's state: the rows that a connector wrote.

    These rows do not identify their records, so no run can replace them one by one.

    Attributes:
        connector: The name of the connector.
        offsets: The offsets whose records the connector wrote.
        millis: The time of the takeover, or of the return, in milliseconds since the epoch.
        back: True if the table was given back to the connector: no run writes it until the next takeover.
    """

    connector: str
    offsets: OffsetSet
    millis: int
    back: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns the note as JSON data."""
        return {
            "connector": self.connector,
            "offsets": self.offsets.to_json(),
            "millis": self.millis,
            "back": self.back,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TakenOver":
        """Reads what ``to_json`` wrote."""
        return cls(data["connector"], OffsetSet.from_json(data["offsets"]), data["millis"], data["back"])
