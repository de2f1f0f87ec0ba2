"""RegexRouter: change the topic by a regular expression."""

from dataclasses import dataclass, replace

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, Transform
from dagster_smt.authoring.validate import Regex
from dagster_smt.model.cell import Call, Cell, Const
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING
from dagster_smt.values.java_regex import Matches, ReplaceIfMatches


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

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("routed", self.regex, self.replacement, "topic"),)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        rule = ReplaceIfMatches(self.regex, self.replacement)
        topic = record.topic
        if isinstance(topic.expr, Const):
            matches = Matches(self.regex).python(topic.expr.value)
            if matches:
                at.touch(0)
            value = rule.python(topic.expr.value)
            return replace(record, topic=Cell(STRING, Const(value, STRING), topic.sources, False))
        at.touch(0, Call(MatchesOrNull(self.regex), (topic.expr,)))
        return replace(record, topic=topic.call(rule, STRING))


@dataclass(frozen=True, slots=True)
class MatchesOrNull(Matches):
    """Null where the text does not match."""

    def python(self, text: str | None) -> bool | None:  # type: ignore[override]
        return Matches.python(self, text) or None
