"""RegexRouter: change the topic by a regular expression."""

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import Regex
from dagster_smt.effects.effect import ByPattern, Effect, Route


class RegexRouter(Transform):
    """Replace the topic of a record if a regular expression (Java syntax) matches the whole topic.

    As in Connect, the first match of the expression in the topic is replaced, and the first match can be shorter than
    the topic. For `a|ab` and the topic `ab`, the first match is only the `a`, so the `b` stays. Partition, offset and
    timestamp stay as they are.
    """

    connect_class = PACKAGE + "RegexRouter"
    sided = False
    regex: Regex = option("The regular expression that must match the whole topic.")
    replacement: Text = option("The replacement; `$1` and `${name}` stand for groups.")
    examples = (Example("cut a prefix", {"regex": "or(.*)", "replacement": "x-$1"}, "orders", "x-ders", shows="topic"),)

    def effects(self) -> tuple[Effect, ...]:
        return (Route(ByPattern(self.regex, self.replacement)),)
