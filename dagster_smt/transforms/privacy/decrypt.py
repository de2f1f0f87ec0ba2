"""Decrypt: decrypt strings that Encrypt encrypted."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.key_options import KEY_RING, Keys
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.text_transform import TextTransform
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.privacy.sealed import Opening


class Decrypt(Keys, TextTransform):
    """Decrypt strings that `Encrypt` encrypted.

    An encrypted string names its mode and its key, so one stage decrypts strings of all keys in `key.ring`. The result
    is a string; `Cast` converts it to a number. The record fails if the string was encrypted with a different key or
    `context`, or if somebody changed the string. A null stays null, and a value of a different type is rejected. This
    class needs the extra `privacy`.
    """

    connect_class = "dagster_smt.privacy.Decrypt"
    purpose = "decrypt fields"
    action = "changed"
    opens = True
    references = (KEY_RING,)
    verb = "decrypted"
    form = "decrypted"
    key_use = "any"
    context: Text = option("The `context` of `Encrypt`.", "")
    on_plain_text: Annotated[Text, one_of("fail", "pass")] = option(
        "The treatment of a string that is not encrypted: `fail` rejects the record, `pass` leaves the string as it "
        "is.",
        "fail",
    )
    examples = (
        Example(
            "a field",
            {"fields": "mail", "key.ring": "k1=${env:EXAMPLE_KEY}"},
            '{"mail":"smt1:siv:k1:clVBt_ZYR1-6YeOLLWxXIbF5kan4e2uDvYPkkx0zpA"}',
            '{"mail":"ada@example.org"}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        yield from TextTransform.check(self)
        yield from self.check_ring()

    def rule(self, path: FieldPath) -> Opening:
        return Opening(self.ring, self.context, self.on_plain_text == "pass")
