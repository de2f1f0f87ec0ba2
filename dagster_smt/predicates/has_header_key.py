"""HasHeaderKey: a test for a header."""

from dagster_smt.authoring.options import option
from dagster_smt.authoring.predicate import PACKAGE, Predicate
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import NonEmptyText
from dagster_smt.effects.condition import HasHeader


class HasHeaderKey(Predicate):
    """True if the record has at least one header of exactly this name, at this point of the chain."""

    connect_class = PACKAGE + "HasHeaderKey"
    name: NonEmptyText = option("Name of the header.")
    examples = (
        Example("it is there", {"name": "trace"}, '[{"key":"trace","value":"a"}]', "true", shows="headers"),
        Example(
            "another case is another name", {"name": "Trace"}, '[{"key":"trace","value":"a"}]', "false", shows="headers"
        ),
    )

    def condition(self) -> HasHeader:
        return HasHeader(self.name)
