"""RegexRouter: change the topic by a regular expression."""

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import Regex
from dagster_smt.effects.effect import ByPattern, Effect, Route


class RegexRouter(Transform):
    """Replace the topic of records whose whole topic matches a regular expression (Java syntax).

    As in Connect, the whole topic must match, and then the first find is replaced: for `a|ab` on the topic `ab` that
    is the `a`. Partition, offset and timestamp stay.
    """

    connect_class = PACKAGE + "RegexRouter"
    sided = False
    regex: Regex = option("The expression the whole topic must match.")
    replacement: Text = option("The new topic; `$1` or `${name}` stand for groups.")
    examples = (Example("cut a prefix", {"regex": "or(.*)", "replacement": "x-$1"}, "orders", "x-ders", shows="topic"),)

    def effects(self) -> tuple[Effect, ...]:
        return (Route(ByPattern(self.regex, self.replacement)),)
