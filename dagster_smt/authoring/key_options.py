"""Options of transforms that need keys. A chain contains references to keys, never the keys themselves."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, PrivateAttr

from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.stage import Chain
from dagster_smt.authoring.validate import one_of
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.key_references import ENCODINGS, KeyReference, KeyRing, forget_keys
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.secrets import is_reference

KEY_RING = "key.ring"
# an optional id with `=`, and a reference: in `k1=${env:NAME}`, the id is `k1`
_ITEM = re.compile(r"(?:([A-Za-z0-9_-]{1,32})=)?(.*)", re.S)
_ONLY = "1"
"""The id of a key for which the option ``key.ring`` gives no id."""


def _references(items: tuple[str, ...]) -> tuple[str, ...]:
    """Returns ``items`` if each item is a reference to a key; otherwise raises an error. The message quotes no item,
    because an item may be a key.
    """
    if not items:
        raise ValueError("the list is empty; it needs at least one key, such as k1=${env:NAME}")
    ids = []
    for number, item in enumerate(items, 1):
        key_id, text = _parts(item)
        if not is_reference(text):
            form = "is not a reference such as k1=${env:NAME}; a chain must not hold the key itself"
            raise ValueError(f"item {number} {form}")
        ids.append(key_id)
    if len(set(ids)) < len(ids):
        raise ValueError("two keys have the same id; write k2=${…}, k1=${…}")
    return items


def _parts(item: str) -> tuple[str, str]:
    match = _ITEM.fullmatch(item)
    assert match is not None
    return match[1] or _ONLY, match[2]


class Keys(BaseModel):
    """The options ``key.ring``, ``key.encoding`` and ``key.id``."""

    key_ring: Annotated[Names, AfterValidator(_references)] = option(
        "The key ring, with the newest key first: `k2=${env:PII_KEY_2}, "
        "k1=${file:/run/secrets/keys.properties:pii}`. An item is an id and a "
        "[reference](../../how-to/pseudonyms.md#keys). A single key needs no id."
    )
    key_encoding: Annotated[Text, one_of(*ENCODINGS)] = option(
        "The encoding of the keys: `base64`, `hex`, or `text` (the key is the bytes of the text).", "base64"
    )
    key_id: Text = option(
        "The id of the key that the stage uses. If empty, the stage uses the first key of the ring. Has no effect in "
        "`Decrypt`.",
        "",
    )

    _checks: dict[str, str] = PrivateAttr(default_factory=dict)
    """Maps the id of each key to the key's check value (a few bytes that are derived from the key).

    If another process has sent the options, the mapping contains the check values of that process. This process can
    thus check whether it has the same keys. In the process that sends the options, the mapping is empty.
    """

    def __getstate__(self) -> dict[Any, Any]:
        state = BaseModel.__getstate__(self)
        checks = {}
        for reference in self.ring.keys:
            checks[reference.id] = reference.sent().check
        return state | {"__pydantic_private__": {**state["__pydantic_private__"], "_checks": checks}}

    key_use: ClassVar[str] = "hmac"
    """The purpose of the keys, such as ``hmac``. The purpose determines the permitted sizes of the keys
    (``model.key_references.SIZES``).
    """

    @property
    def use(self) -> str:
        """The purpose of the keys. In a subclass, it may depend on the options."""
        return self.key_use

    @property
    def ring(self) -> KeyRing:
        """The key ring that the options describe."""
        references = []
        for item in self.key_ring:
            key_id, text = _parts(item)
            check = self._checks.get(key_id, "")
            references.append(KeyReference(key_id, text, self.key_encoding, self.use, check))
        return KeyRing(tuple(references), self.key_id or references[0].id)

    def check_ring(self) -> Iterator[tuple[str, str, str]]:
        """Yields the problems of the key ring, for ``Options.check``."""
        ids = []
        for item in self.key_ring:
            ids.append(_parts(item)[0])
        if self.key_id and self.key_id not in ids:
            yield "key.id", f"there is no key '{self.key_id}' in the option key.ring", f"the ids are: {', '.join(ids)}"


def domain_of(domain: str, path: FieldPath) -> str:
    """Returns the domain of the values at ``path``. Equal values in two domains get different tokens or pseudonyms.

    If the option ``domain`` is ``field``, each path has a domain of its own. Otherwise, the option is the domain.
    """
    if domain == "field":
        return f"field {path.text}"
    return domain


def keys_of(chain: Chain) -> Iterator[tuple[str, KeyReference]]:
    """Yields the key references of all stages of ``chain``. Each reference comes as a pair: the location of the option
    that contains the reference, and the reference itself.
    """
    for stage in chain.stages:
        if isinstance(stage.transform, Keys):
            for reference in stage.transform.ring.keys:
                yield f"{stage.place} {KEY_RING}", reference


def check_keys(chain: Chain) -> None:
    """Reads all keys of ``chain`` again from the places to which its references point, even keys that have already been
    read.

    Raises:
        ConfigError: SMT582 and SMT740, for each key that is missing or unusable.
    """
    if not any(isinstance(stage.transform, Keys) for stage in chain.stages):
        return
    forget_keys()
    problems: list[Problem] = []
    for place, reference in keys_of(chain):
        problems += _problems(place, reference)
    if problems:
        raise ConfigError(problems)


def _problems(place: str, reference: KeyReference) -> Iterable[Problem]:
    try:
        reference.key()
    except ConfigError as error:
        return [problem.at(place) for problem in error.problems]
    return []
