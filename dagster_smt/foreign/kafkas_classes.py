"""Chains whose stages are all Kafka's own classes: they are known to return and to leave the process alone."""

from dagster_smt.authoring.foreign_settings import ForeignSettings
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.foreign.segment import tested_by_host
from dagster_smt.model.topics.format import Format

_KAFKA = "org.apache.kafka.connect.transforms."
_FORMATS = ("json", "envelope", "string", "bytes")


def runs_in_jvm(chain: Chain, key: Format, value: Format) -> bool:
    """Returns whether each stage is Kafka's own and returns, and Java reads the formats without Python."""
    plain = all(form.kind in _FORMATS and not form.options for form in (key, value))
    stages = bool(chain.stages) and all(map(_is_kafkas, chain.stages))
    return plain and stages and not _is_special(chain.foreign)


def _is_special(settings: ForeignSettings) -> bool:
    """Returns whether classes may come from a jar, or somebody asks for the messages of exceptions."""
    return bool(settings.jars) or settings.messages


def _is_kafkas(stage: Stage) -> bool:
    if not stage.transform.foreign or not tested_by_host(stage):
        return False
    return all(part is None or part.connect_class.startswith(_KAFKA) for part in (stage.transform, stage.predicate))
