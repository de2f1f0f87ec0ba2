"""TopicNameMatches: a test of the topic name."""

from dagster_smt.authoring.options import option
from dagster_smt.authoring.predicate import PACKAGE, Predicate
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import Regex
from dagster_smt.effects.condition import TopicPasses
from dagster_smt.values.java.regex import Matches


class TopicNameMatches(Predicate):
    """True if a regular expression (Java syntax) matches the whole topic name.

    The topic is the current topic of the record. Earlier routers in the chain may have changed it.
    """

    connect_class = PACKAGE + "TopicNameMatches"
    pattern: Regex = option("The regular expression that must match the whole topic.", min_length=1)
    examples = (
        Example("the whole name", {"pattern": "orders-.*"}, "orders-eu", "true", shows="topic"),
        Example("a part is not enough", {"pattern": "orders"}, "orders-eu", "false", shows="topic"),
    )

    def condition(self) -> TopicPasses:
        return TopicPasses(Matches(self.pattern))
