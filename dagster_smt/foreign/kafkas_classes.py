"""Finds chains whose stages can run in Spark's JVM: because all classes are Kafka's own, or because the chain trusts
its classes."""

from dagster_smt.authoring.options import Options
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.foreign.segment import tested_by_host
from dagster_smt.model.topics.format import Format

_KAFKA = "org.apache.kafka.connect.transforms."
_FORMATS = ("json", "envelope", "string", "bytes")


def runs_in_jvm(chain: Chain, key: Format, value: Format) -> bool:
    """Returns True if the stages of a chain can run in Spark's JVM, and Java can read the formats without Python.

    Every stage must run from a jar. Unless the chain has ``stage.process: spark``, every class must be Kafka's own,
    because these classes are known to return.
    """
    plain = all(form.kind in _FORMATS and not form.options for form in (key, value))
    stages = bool(chain.stages) and all(stage.transform.foreign and tested_by_host(stage) for stage in chain.stages)
    # only the host reports the messages of exceptions
    return plain and stages and not chain.foreign.messages and (chain.foreign.in_spark or only_kafkas(chain))


def only_kafkas(chain: Chain) -> bool:
    """Returns True if all classes are Kafka's own. Other jars could contain different classes with the same names."""
    return not chain.foreign.jars and all(map(_is_kafkas, chain.stages))


def _is_kafkas(stage: Stage) -> bool:
    parts: tuple[Options | None, ...] = (stage.transform, stage.predicate)
    return all(part is None or part.connect_class.startswith(_KAFKA) for part in parts)
