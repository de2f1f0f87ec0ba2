"""Encrypt: encrypt strings, so that a holder of the key can decrypt them."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.key_options import KEY_RING, Keys
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.text_transform import TextTransform
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.privacy.sealed import MODES, Sealing
from dagster_smt.values.privacy.text_rule import INTEGER_KINDS


class Encrypt(Keys, TextTransform):
    """Encrypt strings and whole numbers with AES. `Decrypt` decrypts them with the same key.

    `mode=gcm` (AES-GCM with a random nonce) hides which values are equal. With `mode=siv` (AES-SIV), equal values
    become equal strings, so tables can still be joined on these strings, and a second run over the same records writes
    the same strings. The result is `smt1:<mode>:<key id>:<Base64>`, a string without a default. Keys of AES-GCM have
    16, 24 or 32 bytes. Keys of AES-SIV have 32, 48 or 64 bytes. One key of AES-GCM should encrypt no more than four
    billion values (NIST SP 800-38D, 8.3). A null stays null, and a value of a different type is rejected. This class
    needs the extra `privacy`.
    """

    connect_class = "dagster_smt.privacy.Encrypt"
    purpose = "encrypt fields"
    references = (KEY_RING,)
    kinds = ("string", *INTEGER_KINDS)
    verb = "encrypted"
    form = "encrypted"
    mode: Annotated[Text, one_of(*MODES)] = option("The mode of AES: `gcm` or `siv`.", "gcm")
    context: Text = option(
        "Context data that `Decrypt` must repeat, such as the name of a field. It is not part of the result.", ""
    )
    examples = (
        Example(
            "texts that join",
            {"fields": "mail", "mode": "siv", "key.ring": "k1=${env:EXAMPLE_KEY}"},
            '{"mail":"ada@example.org"}',
            '{"mail":"smt1:siv:k1:clVBt_ZYR1-6YeOLLWxXIbF5kan4e2uDvYPkkx0zpA"}',
        ),
    )

    @property
    def use(self) -> str:
        return "siv" if self.mode == "siv" else "aes"

    def check(self) -> Iterator[tuple[str, str, str]]:
        yield from TextTransform.check(self)
        yield from self.check_ring()

    def rule(self, path: FieldPath) -> Sealing:
        return Sealing(self.ring.writer, self.mode, self.context)
