"""The vendors of transforms, such as Aiven. For some of the vendors' classes, this module knows the most similar
transform of this package.

A hint to the user names this transform. If it behaves differently from the vendor's class, the hint states the
difference.
"""

from collections.abc import Iterable

from dagster_smt.chain.problems import did_you_mean

KAFKA = "org.apache.kafka.connect.transforms."
_WRITE = "write it as a package of its own (docs/writing-a-transform.md), or leave the stage to the connector"

_VENDORS = {
    "dagster_smt.": "dagster_smt",
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
# Maps the full name of a class to the nearest transform of this package, and the difference between the two.
_CLOSE = {
    "io.confluent.connect.transforms.Flatten": f"{KAFKA}Flatten has the same option delimiter, but no "
    "behavior.on.nested.map",
    "io.confluent.connect.transforms.ReplaceField": f"{KAFKA}ReplaceField has the same options",
    "io.confluent.connect.cloud.transforms.TopicRegexRouter": f"{KAFKA}RegexRouter has the same options",
    "io.debezium.transforms.Filter": "Filter takes predicates, no scripts",
    "io.debezium.transforms.ContentBasedRouter": "RegexRouter takes the topic's name, no scripts",
    "io.aiven.kafka.connect.transforms.TombstoneHandler": "Filter with the predicate RecordIsTombstone is "
    "behavior=drop_silent; it does not warn or fail",
    "com.github.hpgrahsl.kafka.connect.transforms.kryptonite.CipherField": "Encrypt and Decrypt use another form of "
    "encrypted text, so a Decrypt here does not open such fields: run this class from the jar of a release of "
    "github.com/hpgrahsl/kryptonite-for-kafka",
    "com.github.jcustenborder.kafka.connect.transform.common.LowerCaseTopic": "RegexRouter cannot change case",
}


def is_kafkas(connect_class: str) -> bool:
    """Returns True if ``connect_class`` is a class of Apache Kafka."""
    return connect_class.startswith(KAFKA)


def vendor_of(connect_class: str) -> str:
    """Returns the vendor of ``connect_class``; for an unknown vendor, the package of the class."""
    if is_kafkas(connect_class):
        return "Apache Kafka"
    return _known_vendor(connect_class) or connect_class.rpartition(".")[0]


def _known_vendor(connect_class: str) -> str | None:
    for prefix, vendor in _VENDORS.items():
        if connect_class.startswith(prefix):
            return vendor
    return None


def by_vendor(connect_classes: Iterable[str]) -> dict[str, list[str]]:
    """Groups ``connect_classes`` by vendor, Kafka first."""
    vendors: dict[str, list[str]] = {}
    for name in sorted(connect_classes, key=lambda name: not is_kafkas(name)):
        vendors.setdefault(vendor_of(name), []).append(name)
    return vendors


def vendor_hint(name: str, known: Iterable[str] = ()) -> str:
    """Returns a hint for a user of the class ``name``, which this package does not have.

    The hint is empty if the class belongs to Kafka, or if ``name`` contains no package.

    Args:
        name: The class with its package, without ``$Key`` or ``$Value``.
        known: The classes that chains can use.
    """
    if "." not in name or is_kafkas(name):
        return ""
    vendor = _known_vendor(name)
    nearest = _CLOSE.get(name)
    if vendor:
        statement = f"it is {_possessive(vendor)}"
    else:
        statement = "no installed package has it"
    same_vendor = []
    for other in known:
        if vendor_of(other) == vendor_of(name):
            same_vendor.append(other)
    if same_vendor:
        statement += f"; installed from this vendor: {', '.join(same_vendor)}"
        shorts = []
        for other in same_vendor:
            shorts.append(other.rpartition(".")[2])
        nearest = nearest or did_you_mean(name.rpartition(".")[2], shorts, "-").removeprefix("-")
    return f"{statement}: {f'{nearest}; or ' if nearest else ''}{_WRITE}"


def _possessive(vendor: str) -> str:
    if "'" in vendor or "(" in vendor:
        return vendor
    return f"{vendor}'s"
