"""DropHeaders: remove headers by name."""

from dataclasses import replace

from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, Transform
from dagster_smt.authoring.validate import NonEmptyNames
from dagster_smt.model.cell import Call
from dagster_smt.model.record import PlanRecord
from dagster_smt.values.headers import DropNamed, HasHeaderOrNull


class DropHeaders(Transform):
    """Remove every header that has one of some names.

    Names are case-sensitive and no patterns. The other headers keep their order and their bytes. Names that a record
    does not have change nothing.
    """

    connect_class = PACKAGE + "DropHeaders"
    sided = False
    reads_headers = True
    headers: NonEmptyNames = option("Names of the headers to remove.")
    examples = (
        Example(
            "one name, several headers",
            {"headers": "trace"},
            '[{"key":"trace","value":"a"},{"key":"id","value":"7"},{"key":"trace","value":"b"}]',
            '[{"key":"id","value":"7"}]',
            shows="headers",
        ),
    )

    def ledger(self) -> tuple[Entry, ...]:
        return tuple(Entry("dropped", name, side="headers") for name in self.headers)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        before = record.headers
        for number, name in enumerate(self.headers):
            at.touch(number, Call(HasHeaderOrNull(name), (before.expr,)))
        return replace(record, headers=before.call(DropNamed(self.headers), before.schema))
