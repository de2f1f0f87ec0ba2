"""What topics demand of the records that are written to them, as their settings say it."""

from collections.abc import Mapping
from dataclasses import dataclass

LONGEST, POLICY = "max.message.bytes", "cleanup.policy"
OF_BROKERS = {LONGEST: "message.max.bytes", POLICY: "log.cleanup.policy"}
"""By setting of a topic the one of brokers that counts where a topic has none of its own."""


@dataclass(frozen=True)
class Demands:
    """The demands of a topic on each of its records.

    Attributes:
        longest: How many bytes it may have; None where brokers do not say.
        keys: True if it needs a key: a topic that is compacted keeps the last record of each.
    """

    longest: int | None = None
    keys: bool = False


def demands_of(settings: Mapping[str, str]) -> Demands:
    """Returns the demands of a topic with these settings."""
    longest = settings.get(LONGEST, "")
    policies = [policy.strip() for policy in settings.get(POLICY, "").split(",")]
    return Demands(int(longest) if longest.isdecimal() else None, "compact" in policies)
