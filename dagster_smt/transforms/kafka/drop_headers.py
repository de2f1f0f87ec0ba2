"""DropHeaders: remove headers by name."""

from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import NonEmptyNames
from dagster_smt.effects import effect


class DropHeaders(Transform):
    """Remove all headers with the given names.

    Names are case-sensitive and are not patterns. All other headers keep their order and their bytes. Names that a
    record does not have are ignored.
    """

    connect_class = PACKAGE + "DropHeaders"
    sided = False
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

    def effects(self) -> tuple[effect.Effect, ...]:
        return (effect.DropHeaders(self.headers),)
