"""Determines whether Spark's JVM can run the stages of a chain. This is the case if all classes are Kafka's own, or if
the chain declares that its classes may run there.
"""

from dagster_smt.authoring.options import Options
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.foreign.segment import tested_by_host
from dagster_smt.model.topics.format import Format

_KAFKA = "org.apache.kafka.connect.transforms."
_FORMATS = ("json", "envelope", "string", "bytes")


def runs_in_jvm(chain: Chain, key: Format, value: Format) -> bool:
    """Returns True if Spark's own JVM can run all stages of ``chain``, so that no separate Java process (the host) is
    needed. For a chain without stages, the result is False.

    There are four conditions:

    - Every transform is a Java class from a jar, and Java can test every predicate.
    - Java can read the format of the keys and the format of the values, such as ``json``.
    - The chain has ``stage.process: spark``. Without this setting, all its classes must be Kafka's own, and it must
      have no ``smt_jars``.
    - The chain does not ask for the messages of exceptions, because only the host returns these messages.
    """
    return bool(chain.stages) and not why_in_host(chain, key, value)


def why_in_host(chain: Chain, key: Format, value: Format) -> str:
    """Returns the reason why the stages of ``chain`` run in a separate process. The result is empty if Spark's JVM can
    run them.
    """
    for stage in chain.stages:
        if not (stage.transform.foreign and tested_by_host(stage)):
            return f"transforms.{stage.alias} or its predicate is no class of a jar"
    for side, form in (("keys", key), ("values", value)):
        if form.kind not in _FORMATS or form.options:
            return f"Python reads the format of the {side}"
    if chain.foreign.messages:
        return "only that process gives the messages of exceptions"
    if not chain.foreign.in_spark and not only_kafkas(chain):
        return "stage.process is own"
    return ""


def only_kafkas(chain: Chain) -> bool:
    """Returns True if all classes of ``chain`` are Kafka's own. For a chain with ``smt_jars``, the result is False,
    because these jars could contain different classes under the same names.
    """
    return not chain.foreign.jars and all(map(_is_kafkas, chain.stages))


def _is_kafkas(stage: Stage) -> bool:
    parts: tuple[Options | None, ...] = (stage.transform, stage.predicate)
    return all(part is None or part.connect_class.startswith(_KAFKA) for part in parts)
