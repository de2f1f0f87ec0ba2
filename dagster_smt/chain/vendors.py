"""Transforms of other vendors that people meet in connectors: who makes them, and what here comes close to them.

Never an answer that does something else: where a transform here is like one of theirs, the hint says how it differs.
"""

from collections.abc import Iterable

from dagster_smt.chain.problems import did_you_mean

KAFKA = "org.apache.kafka.connect.transforms."
_WRITE = "write it as a package of its own (docs/writing-a-transform.md), or leave the stage to the connector"

_VENDORS = {
    "io.confluent.connect.transforms.": "Confluent",
    "io.confluent.connect.cloud.transforms.": "Confluent",
    "io.debezium.": "Debezium",
    "io.aiven.kafka.connect.": "Aiven",
    "com.github.jcustenborder.kafka.connect.transform.": "Jeremy Custenborder's transform-common",
    "io.lenses.connect.smt.": "Lenses",
    "com.github.hpgrahsl.kafka.connect.transforms.": "Kryptonite",
    "com.github.hpgrahsl.kryptonite.": "Kryptonite",
    "org.apache.iceberg.connect.transforms.": "Apache Iceberg",
    "io.tabular.iceberg.connect.transforms.": "Tabular (now Apache Iceberg)",
    "org.apache.camel.kafkaconnector.": "Apache Camel",
    "com.redhat.insights.": "Red Hat Insights",
}
# By vendor's prefix and class: what comes close here, and how it differs.
_CLOSE = {
    "io.confluent.connect.transforms.Flatten": f"{KAFKA}Flatten has the same option delimiter, but no "
    "behavior.on.nested.map",
    "io.confluent.connect.transforms.ReplaceField": f"{KAFKA}ReplaceField has the same options",
    "io.confluent.connect.cloud.transforms.TopicRegexRouter": f"{KAFKA}RegexRouter has the same options",
    "io.debezium.transforms.Filter": "Filter takes predicates, no scripts",
    "io.debezium.transforms.ContentBasedRouter": "RegexRouter takes the topic's name, no scripts",
    "io.aiven.kafka.connect.transforms.TombstoneHandler": "Filter with the predicate RecordIsTombstone is "
    "behavior=drop_silent; it does not warn or fail",
    "com.github.jcustenborder.kafka.connect.transform.common.LowerCaseTopic": "RegexRouter cannot change case",
}


def is_kafkas(connect_class: str) -> bool:
    """Whether a class is one that Kafka brings along."""
    return connect_class.startswith(KAFKA)


def vendor_of(connect_class: str) -> str:
    """Who makes a class: a name, or the package of the class."""
    if is_kafkas(connect_class):
        return "Apache Kafka"
    known = next((v for prefix, v in _VENDORS.items() if connect_class.startswith(prefix)), None)
    return known or connect_class.rpartition(".")[0]


def by_vendor(connect_classes: Iterable[str]) -> dict[str, list[str]]:
    """Classes by vendor, Kafka first."""
    found: dict[str, list[str]] = {}
    for name in sorted(connect_classes, key=lambda name: not is_kafkas(name)):
        found.setdefault(vendor_of(name), []).append(name)
    return found


def vendor_hint(name: str, known: Iterable[str] = ()) -> str:
    """What to do about a class of another package; empty for one of Kafka's, or a name without a package.

    Args:
        name: The class with its package, without ``$Key`` or ``$Value``.
        known: The classes that there are.
    """
    if "." not in name or is_kafkas(name):
        return ""
    vendor = next((v for prefix, v in _VENDORS.items() if name.startswith(prefix)), None)
    close = _CLOSE.get(name)
    if vendor:
        whose = f"it is {_possessive(vendor)}"
    else:
        whose = "no installed package has it"
    theirs = []
    for other in known:
        if vendor_of(other) == vendor_of(name):
            theirs.append(other)
    if theirs:
        whose += f", of whose there are {', '.join(theirs)}"
        shorts = [other.rpartition(".")[2] for other in theirs]
        close = close or did_you_mean(name.rpartition(".")[2], shorts, "-").removeprefix("-")
    return f"{whose}: {f'{close}; or ' if close else ''}{_WRITE}"


def _possessive(vendor: str) -> str:
    if "'" in vendor or "(" in vendor:
        return vendor
    return f"{vendor}'s"
