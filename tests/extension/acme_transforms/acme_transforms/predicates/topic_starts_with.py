"""TopicStartsWith: by the beginning of the topic's name."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.effects.condition import TopicPasses
from dagster_smt.values.value_rule import ValueRule


@dataclass(frozen=True, slots=True)
class StartsWith(ValueRule):
    """Whether a text starts with another one."""

    prefix: str

    def python(self, text: str | None) -> bool:
        return text is not None and text.startswith(self.prefix)

    def column(self, F: Any, text: Any) -> Any:
        return text.startswith(self.prefix)


class TopicStartsWith(Predicate):
    """True where the topic, after routers, starts with a text."""

    connect_class = "com.example.transforms.predicates.TopicStartsWith"
    prefix: Text = option("The beginning of the topic.")

    def condition(self) -> TopicPasses:
        return TopicPasses(StartsWith(self.prefix))
