"""Defines the part of a table's state that concerns a takeover. In a takeover, an asset takes the table over from a
stopped connector of Kafka Connect. Later, the table may be given back to the connector.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagster_smt.model.windows.offsets import OffsetSet


@dataclass(frozen=True, slots=True)
class TakenOver:
    """The part of a table's state about the rows that a connector wrote.

    These rows do not contain the topic, partition and offset of their records, so a run cannot replace single rows.

    Attributes:
        connector: The name of the connector.
        offsets: The offsets whose records the connector wrote.
        millis: The time of the takeover, or of the return to the connector, in milliseconds since the epoch.
        back: True if the table was given back to the connector: no run writes it until the next takeover.
        number: The number of the commit with which the takeover, or the return, began. 0 in states of older versions,
            which do not contain the number.
    """

    connector: str
    offsets: OffsetSet
    millis: int
    back: bool = False
    number: int = 0

    def to_json(self) -> dict[str, Any]:
        """Returns the object as JSON data."""
        return {
            "connector": self.connector,
            "offsets": self.offsets.to_json(),
            "millis": self.millis,
            "back": self.back,
            "number": self.number,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TakenOver":
        """Returns the object that ``to_json`` has converted into ``data``."""
        offsets = OffsetSet.from_json(data["offsets"])
        return cls(data["connector"], offsets, data["millis"], data["back"], data.get("number", 0))
