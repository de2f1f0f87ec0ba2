"""Pseudonymize: replace strings with keyed digests that still join."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.key_options import KEY_RING, Keys, domain_of
from dagster_smt.authoring.options import Flag, Int, Text, option
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.text_transform import TextTransform
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.privacy.pseudonyms import (
    ALPHABETS,
    DIGEST_BITS,
    LEAST_BITS,
    Pseudonym,
    bits_of,
    standard_length,
)
from dagster_smt.values.privacy.text_rule import INTEGER_KINDS


class Pseudonymize(Keys, TextTransform):
    """Replace strings and whole numbers with pseudonyms: HMAC-SHA-256 with a key, in a chosen alphabet and length.

    Equal values have equal pseudonyms, so tables can still be joined. Without the key, nobody can compute a pseudonym
    from a value. Only fields with the same `domain` can be joined. A string is encoded as UTF-8. A whole number is
    treated as the string of its decimal digits, so 42 and "42" have the same pseudonym. With an empty `domain` and
    `alphabet=hex`, the pseudonym is the beginning of the HMAC of the value, as other tools print it. The result of the
    transform is a string without a default. A null stays null, and a value of a different type is rejected. The shorter
    a pseudonym is, the likelier it is that two values have the same pseudonym.
    """

    connect_class = "dagster_smt.privacy.Pseudonymize"
    purpose = "pseudonymize fields"
    references = (KEY_RING,)
    kinds = ("string", *INTEGER_KINDS)
    verb = "pseudonymized"
    form = "pseudonym"
    domain: Text = option(
        "Separates fields into groups. In one group, equal values have equal pseudonyms, so tables can be joined. If "
        "empty, all fields with the same key form one group. `field`: each path is a group of its own. Any other "
        "string: all fields with the same key and this string form one group.",
        "",
    )
    alphabet: Annotated[Text, one_of(*ALPHABETS)] = option(
        "The characters: `hex`, `base32`, `base64url`, `alphanumeric`, `letters` or `digits`.", "hex"
    )
    length: Int = option("The number of characters. 0 means as many as hold 128 bits (32 of `hex`).", 0)
    show_key_id: Flag = option("If `true`, the id of the key and a colon precede the pseudonym.", False)
    examples = (
        Example(
            "a field",
            {"fields": "mail", "key.ring": "${env:EXAMPLE_KEY}"},
            '{"mail":"ada@example.org"}',
            '{"mail":"c2ca8524eab3e540e13d4e2397be333a"}',
        ),
        Example(
            "ten digits, with the key's id",
            {
                "fields": "user.id",
                "field.syntax.version": "V2",
                "key.ring": "k1=${env:EXAMPLE_KEY}",
                "alphabet": "digits",
                "length": 10,
                "show.key.id": True,
            },
            '{"user":{"id":4711,"lang":"en"}}',
            '{"user":{"id":"k1:4268450719","lang":"en"}}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        yield from TextTransform.check(self)
        yield from self.check_ring()
        bits = bits_of(self.alphabet, self.characters)
        if self.length < 0 or not LEAST_BITS <= bits <= DIGEST_BITS:
            statement = f"{self.length} characters of {self.alphabet} are {bits:.0f} bits, and must be 32 to 256"
            yield "length", statement, f"{standard_length(self.alphabet)} characters hold 128 bits"

    @property
    def characters(self) -> int:
        """The number of characters of a pseudonym."""
        return self.length or standard_length(self.alphabet)

    def rule(self, path: FieldPath) -> Pseudonym:
        domain = domain_of(self.domain, path)
        return Pseudonym(self.ring.writer, domain, self.alphabet, self.characters, self.show_key_id)
