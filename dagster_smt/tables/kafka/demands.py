"""Derives the requirements that topics have for their records. The requirements follow from the settings of the
topics.
"""

from collections.abc import Mapping
from dataclasses import dataclass

LONGEST, POLICY = "max.message.bytes", "cleanup.policy"
OF_BROKERS = {LONGEST: "message.max.bytes", POLICY: "log.cleanup.policy"}
"""Maps the name of a topic setting to the name of a broker setting. If a topic has no value of its own, the broker
setting applies: ``message.max.bytes`` for ``max.message.bytes``.
"""


@dataclass(frozen=True)
class Demands:
    """The requirements of a topic for each of its records.

    Attributes:
        longest: The largest size of a record in bytes; None if the brokers do not report it.
        keys: True if a record needs a key, because the topic is compacted.
    """

    longest: int | None = None
    keys: bool = False


def demands_of(settings: Mapping[str, str]) -> Demands:
    """Returns the requirements that a topic with these ``settings`` has for its records."""
    longest = settings.get(LONGEST, "")
    policies = []
    for policy in settings.get(POLICY, "").split(","):
        policies.append(policy.strip())
    return Demands(int(longest) if longest.isdecimal() else None, "compact" in policies)
