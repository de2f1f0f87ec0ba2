"""What a chain hides, as something that runs can be compared by: the identity of a mask, and what one chain lacks."""

import hashlib
import json
from collections.abc import Iterator

from dagster_smt.authoring.bundles import NestedPaths
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Entry
from dagster_smt.chain.plan import first_entries, ledger_entries
from dagster_smt.chain.stages import as_text
from dagster_smt.model.reports.report import LedgerEntry

HIDES = ("masked", "dropped")
"""Actions that take values away."""


def fingerprints(chain: Chain) -> tuple[str, ...]:
    """For each ledger entry, sixteen hex digits that stay the same as long as it means the same fields.

    The same path means other fields under another syntax or predicate, and behind other stages; so all of that counts.
    """
    found: list[str] = []
    before: list[object] = []
    for stage in chain.stages:
        own = _meaning(stage)
        for effect in stage.transform.ledger():
            text = json.dumps([before, own, effect.action, effect.path, effect.side])
            found.append(hashlib.sha256(text.encode()).hexdigest()[:16])
        if type(stage) is Stage:  # those of the topic table's columns change no name
            before.append([own, {key: as_text(value) for key, value in stage.transform.configured().items()}])
    return tuple(found)


def less_hidden(chain: Chain, defined: Chain) -> tuple[LedgerEntry, ...]:
    """The masks and drops of a definition's chain that another chain does not have.

    One that has lost its predicate still hides as much. Paths are compared as they are written: a chain that hides the
    same under other paths counts as one that hides less.
    """
    there = {what for _, what, _ in _hidden(chain)}
    entries = ledger_entries(defined)
    missing = []
    for number, what, always in _hidden(defined):
        if what not in there and always not in there:
            missing.append(entries[number])
    return tuple(missing)


def _hidden(chain: Chain) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    """Number of each entry that hides something, what it hides and when, and the same without a condition."""
    for first, stage in zip(first_entries(chain), chain.stages, strict=True):
        for number, effect in enumerate(stage.transform.ledger(), first):
            if effect.action in HIDES:
                what = _what(stage, effect)
                yield number, (*what, _when(stage)), (*what, "")


def _what(stage: Stage, effect: Entry) -> tuple[str, ...]:
    transform, where = stage.transform, effect.side or stage.side
    if effect.named and isinstance(transform, NestedPaths):  # whatever syntax the path is written in
        return where, str(transform.path(effect.path).steps)
    return where, effect.path if effect.named is False else str((effect.path,))


def _when(stage: Stage) -> str:
    if stage.predicate is None:
        return ""
    options = {key: as_text(value) for key, value in stage.predicate.configured().items()}
    return json.dumps([stage.predicate.connect_class, options, stage.negate], sort_keys=True)


def _meaning(stage: Stage) -> list[str]:
    """What else decides which fields the paths of a stage mean, and in which records."""
    syntax = (getattr(stage.transform, name, "") for name in ("field_syntax_version", "strict_paths"))
    return [stage.connect_class, *map(str, syntax), _when(stage)]
