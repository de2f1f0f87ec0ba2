"""Puts a chain in front of a connector: the component writes to topics, and the connector reads these topics.

The component applies the transforms and writes each record to a topic with a suffix: ``orders.search``. The connector
reads these topics, without its former transforms. It gets one new transform, which removes the suffix from the topic
names, because many stores name an index or collection after the topic.
"""

import re
from dataclasses import dataclass

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_rules import OptionVerdict
from dagster_smt.connect.settings import ExtraStage
from dagster_smt.connect.survey import TransformVerdict

PATCH_FILE = "connector.patch.json"
"""The name of the file with the changes: the body of ``PATCH /connectors/NAME/config`` (KIP-477, Kafka 3.8 and later).

The file contains only options that change, and therefore no secrets.
"""
Patch = dict[str, str | None]
_ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"


@dataclass(frozen=True)
class Beside:
    """The parts of a component that writes to topics. A connector, which stays in use, reads these topics.

    Attributes:
        stage: The last stage of the component's chain, which adds the suffix to the topic.
        patch: The changes to the connector's configuration. The value None removes an option.
        options: The verdicts on the options that change.
        notes: Lines of the report.
        proposals: Settings that a user may add.
    """

    stage: ExtraStage
    patch: Patch
    options: list[OptionVerdict]
    notes: list[TransformVerdict]
    proposals: list[str]


def beside(connector: Connector, suffix: str, routes: bool) -> Beside:
    """Returns the parts of a component that writes to topics. A sink connector, which stays in use, reads these topics.

    Args:
        connector: The connector.
        suffix: The suffix of the topic names. Each connector has its own suffix.
        routes: True if transforms of the connector choose the topic.
    """
    end = re.escape(f".{suffix}")
    stage = ExtraStage("toConnector", {"type": _ROUTER, "regex": "(.*)", "replacement": f"$1.{suffix}"})
    topics, options = _topics(connector, suffix, routes)
    patch: Patch = {
        **without_transforms(connector),
        **topics,
        "transforms": "topicBefore",
        "transforms.topicBefore.type": _ROUTER,
        "transforms.topicBefore.regex": f"(.*){end}",
        "transforms.topicBefore.replacement": "$1",
    }
    # SinkConnectorConfig rejects a connector with both topics and topics.regex
    if "topics" in connector.config and "topics" not in topics:
        patch["topics"] = None
    names = topics.get("topics") or topics["topics.regex"]
    text = f"the connector stays in use: apply the changes in {PATCH_FILE} when the component runs"
    notes = [TransformVerdict(PATCH_FILE, names, "differs", text)]
    proposals = ["sink.kafka.create makes topics that do not exist; give them as many partitions as the topics before"]
    return Beside(stage, patch, options, notes, proposals)


def without_transforms(connector: Connector) -> Patch:
    """Returns the changes that remove all transforms and predicates from the configuration of ``connector``."""
    return dict.fromkeys(option for option in connector.chain if option in connector.config)


def _topics(connector: Connector, suffix: str, routes: bool) -> tuple[dict[str, str], list[OptionVerdict]]:
    text = f"table.topics; {PATCH_FILE} has the topics that the component writes"
    if connector.topics:
        options = [OptionVerdict("topics", "used", text)]
        if not routes:
            return {"topics": ",".join(f"{topic}.{suffix}" for topic in connector.topics)}, options
    else:
        options = [OptionVerdict("topics.regex", "used", text.replace("topics;", "pattern;"))]
    # after a router, only the suffix of the topics is known here
    pattern = ".*" if routes else f"({connector.config.get('topics.regex', '.*').strip()})"
    return {"topics.regex": f"{pattern}{re.escape(f'.{suffix}')}"}, options
