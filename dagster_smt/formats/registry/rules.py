"""Reads the rules of schemas in a registry. Producers and consumers apply these rules to each record (Confluent's data
contracts).

A rule of type ``ENCRYPT`` concerns the fields with certain tags. Producers encrypt these fields, and consumers decrypt
them (client-side field level encryption). Rules of the types ``CEL`` and ``CEL_FIELD`` check or change records.

By default, this package applies no rule, and rejects a schema with rules. The option ``rules`` can set a different
treatment of encrypted fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dagster_smt.errors import DATA_EXCEPTION, DataError, data_error
from dagster_smt.model.topics.format import RULES

Mode = Literal["READ", "WRITE"]
ENCRYPT = "ENCRYPT"
_BOTH = "WRITEREAD"
_SHOWN = 100
"""The largest number of characters of a rule's name that a message shows."""


@dataclass(frozen=True)
class RegistryRule:
    """A rule that clients apply to each record.

    Attributes:
        name: The rule's name.
        type: ``ENCRYPT``, ``CEL``, ``CEL_FIELD``, or the type of a third-party executor.
        tags: The rule applies to fields with one of these tags; without tags, to all fields.
        parameters: Pairs of a name, such as ``encrypt.kek.name``, and a value. The properties of the schema are
            included.
        of_bytes: True if the rule applies to the bytes of the whole record instead of single fields
            (``encodingRules``).
        may_fail: True if a record stays unchanged when the rule fails (``onFailure`` is ``NONE``).
    """

    name: str
    type: str
    tags: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    of_bytes: bool = False
    may_fail: bool = False

    @property
    def is_encryption(self) -> bool:
        """True if the rule encrypts fields."""
        return self.type == ENCRYPT and not self.of_bytes

    @property
    def words(self) -> str:
        """The rule's name and type for messages: ``the rule 'encryptPII' (ENCRYPT)``."""
        return f"the rule '{self.name[:_SHOWN]}' ({self.type[:_SHOWN]})"


def rules_of(schema: Any, mode: Mode) -> tuple[RegistryRule, ...]:
    """Returns the rules of ``schema`` that a client applies in ``mode``, in the order in which the client applies them.

    Args:
        schema: A schema, as returned by the client from ``confluent-kafka``.
        mode: ``READ`` for consumers, ``WRITE`` for producers.
    """
    rule_set = schema.rule_set
    # as in Confluent's clients, rules that are enabled for a different environment do not apply
    if rule_set is None or (rule_set.enable_at or "ALL") not in ("ALL", "CLIENT"):
        return ()
    properties = getattr(getattr(schema.metadata, "properties", None), "properties", None) or {}
    rules = _applied(rule_set.domain_rules, mode, properties, of_bytes=False)
    encodings = _applied(rule_set.encoding_rules, mode, properties, of_bytes=True)
    if mode == "READ":
        # consumers undo the last step of the producer first
        return (*reversed(encodings), *reversed(rules))
    return (*rules, *encodings)


def _applied(rules: Any, mode: Mode, properties: Mapping[str, str], *, of_bytes: bool) -> list[RegistryRule]:
    results = []
    for rule in rules or ():
        if rule.disabled or rule.mode not in (mode, _BOTH):
            continue
        parameters = tuple({**properties, **(rule.params.params if rule.params else {})}.items())
        may_fail = _action(rule.on_failure or "", mode) == "NONE"
        kind = (rule.type or "").upper()
        results.append(RegistryRule(rule.name or "", kind, tuple(rule.tags or ()), parameters, of_bytes, may_fail))
    return results


def _action(text: str, mode: Mode) -> str:
    """Returns the part of ``text``, the ``onFailure`` of a rule, that applies in ``mode``. In ``ERROR,NONE``, ``ERROR``
    applies to writing and ``NONE`` to reading. A single word, such as ``NONE``, applies to writing and to reading.
    """
    actions = text.split(",")
    return actions[0] if mode == "WRITE" else actions[-1]


def check_read(settings: Mapping[str, str], rules: tuple[RegistryRule, ...], number: int) -> None:
    """Raises an error if this package cannot read records because of one of ``rules``. The records have the schema with
    the id ``number``.

    Raises:
        DataError: SMT752 for every rule that does not encrypt fields. Also SMT752 for a rule that encrypts fields,
            unless the option ``rules`` is ``sealed`` (the fields stay encrypted) or ``open`` (the fields are
            decrypted).
    """
    choice = settings.get(RULES, "refuse")
    for rule in rules:
        if choice == "refuse" and rule.is_encryption:
            hint = f"with {RULES}=sealed, they stay encrypted; with {RULES}=open, they are decrypted"
            raise _refused(f"schema {number} has {rule.words}, which encrypts fields", hint)
        if not rule.is_encryption:
            hint = "let a consumer with this rule write another topic, and read that one"
            raise _refused(f"schema {number} has {rule.words}, which this package does not apply", hint)


def check_write(settings: Mapping[str, str], rules: tuple[RegistryRule, ...], subject: str) -> None:
    """Raises an error if the producers of ``subject`` apply a rule that this package does not apply. With the option
    ``rules: open``, this package applies rules that encrypt fields. With ``rules: sealed``, no error is raised.

    Args:
        settings: The options of the format.
        rules: The rules of producers.
        subject: The subject.

    Raises:
        DataError: SMT752 for a rule that this package does not apply.
    """
    choice = settings.get(RULES, "refuse")
    if choice == "sealed":
        return
    for rule in rules:
        if choice == "open" and rule.is_encryption:
            continue
        statement = f"producers apply {rule.words} under {subject}, and this package does not"
        hint = f"set {RULES}=open to encrypt fields, or {RULES}=sealed to write values as they are"
        raise _refused(statement, hint)


def unmatched(rule: RegistryRule, fields: str) -> DataError:
    """Returns the error (SMT752) for a schema that ``rule`` does not fit. ``fields`` says which fields are wrong, for
    example that the schema lacks an encrypted field.
    """
    hint = "keep the names and types of encrypted fields, or write another subject"
    return _refused(f"{rule.words} encrypts {fields[:300]}", hint)


def too_large(most: int) -> DataError:
    """Returns the error (SMT752) for a schema with more than ``most`` fields. Such a schema is too large to search for
    encrypted fields.
    """
    statement = f"the latest schema has more than {most} fields, each counted where it is used"
    return _refused(f"fields cannot be encrypted: {statement}", "write another subject, or use a smaller schema")


def _refused(statement: str, hint: str) -> DataError:
    return data_error("SMT752", statement, hint, DATA_EXCEPTION)
