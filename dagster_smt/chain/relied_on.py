"""The masks and drops of a chain, in a form that runs can compare: their identity, and the masks that a chain lacks."""

import hashlib
import json
from collections.abc import Iterator

from dagster_smt.authoring.bundles import NestedPaths
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Entry
from dagster_smt.chain.plan import first_entries, ledger_entries
from dagster_smt.chain.stages import as_text
from dagster_smt.model.reports.run_report import LedgerEntry

HIDES = ("masked", "dropped")
"""Actions that take values away."""


def fingerprints(chain: Chain) -> tuple[str, ...]:
    """Returns for each ledger entry sixteen hex digits, which stay the same as long as the entry means the same fields.

    The digits depend on the path, its syntax, the predicate and the earlier stages: each can change which fields it
        means.
    """
    digits: list[str] = []
    before: list[object] = []
    for stage in chain.stages:
        own = _meaning(stage)
        for effect in stage.transform.ledger():
            text = json.dumps([before, own, effect.action, effect.path, effect.side])
            digits.append(hashlib.sha256(text.encode()).hexdigest()[:16])
        if type(stage) is Stage:  # subclasses are stages of the topic table's columns, which rename nothing
            before.append([own, {key: as_text(value) for key, value in stage.transform.configured().items()}])
    return tuple(digits)


def less_hidden(chain: Chain, defined: Chain) -> tuple[LedgerEntry, ...]:
    """Returns the masks and drops of a definition's chain that another chain does not have.

    A mask without its former predicate hides at least as much, so the result does not have it. Paths are compared as
    text: if the chain hides the same fields under other paths, the result has the masks of the definition.
    """
    present = {target for _, target, _ in _hidden(chain)}
    entries = ledger_entries(defined)
    missing = []
    for number, target, unconditional in _hidden(defined):
        if target not in present and unconditional not in present:
            missing.append(entries[number])
    return tuple(missing)


def _hidden(chain: Chain) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    """Yields each mask and drop: its number, its target with its condition, and its target without a condition."""
    for first, stage in zip(first_entries(chain), chain.stages, strict=True):
        for number, effect in enumerate(stage.transform.ledger(), first):
            if effect.action in HIDES:
                target = _target_of(stage, effect)
                yield number, (*target, _condition_text(stage)), (*target, "")


def _target_of(stage: Stage, effect: Entry) -> tuple[str, ...]:
    transform, side = stage.transform, effect.side or stage.side
    if effect.explicit and isinstance(transform, NestedPaths):  # the steps are the same in every syntax
        return side, str(transform.path(effect.path).steps)
    return side, effect.path if effect.explicit is False else str((effect.path,))


def _condition_text(stage: Stage) -> str:
    if stage.predicate is None:
        return ""
    options = {key: as_text(value) for key, value in stage.predicate.configured().items()}
    return json.dumps([stage.predicate.connect_class, options, stage.negate], sort_keys=True)


def _meaning(stage: Stage) -> list[str]:
    """Returns the settings, besides its paths, that decide which fields and records a stage changes."""
    syntax = (getattr(stage.transform, name, "") for name in ("field_syntax_version", "strict_paths"))
    return [stage.connect_class, *map(str, syntax), _condition_text(stage)]
