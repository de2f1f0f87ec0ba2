"""HasHeaderKey: by the name of a header."""

from dagster_smt.authoring.options import option
from dagster_smt.authoring.predicate import PACKAGE, Predicate
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import NonEmptyText
from dagster_smt.model.cell import Call, Expr
from dagster_smt.model.record import PlanRecord
from dagster_smt.values.headers import HasHeader


class HasHeaderKey(Predicate):
    """True where the record has at least one header of exactly this name, at this point of the chain."""

    connect_class = PACKAGE + "HasHeaderKey"
    reads_headers = True
    name: NonEmptyText = option("Name of the header.")
    examples = (
        Example("it is there", {"name": "trace"}, '[{"key":"trace","value":"a"}]', "true", shows="headers"),
        Example(
            "another case is another name", {"name": "Trace"}, '[{"key":"trace","value":"a"}]', "false", shows="headers"
        ),
    )

    def test(self, record: PlanRecord) -> Expr | bool:
        return Call(HasHeader(self.name), (record.headers.expr,))
