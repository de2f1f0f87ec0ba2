"""Compares the masks and drops of chains. Each mask and drop gets a fingerprint, by which later runs recognize it. This
module also finds the masks and drops that only one of two chains has.
"""

import hashlib
import json
from collections.abc import Iterator

from dagster_smt.authoring.bundles import NestedPaths
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Entry
from dagster_smt.chain.plan import first_entries, ledger_entries
from dagster_smt.chain.stages import option_texts
from dagster_smt.effects.effect import Change
from dagster_smt.effects.field_rule import Protection
from dagster_smt.effects.text_transform import TextTransform
from dagster_smt.model.reports.run_report import LedgerEntry

HIDES = ("masked", "dropped")
"""The actions that remove values."""
WHOLLY = "wholly"
"""A word for the comparison of masks. It represents a drop, or a mask that replaces every value with a constant. In
both cases nothing of the value is left. For such a mask, the function ``_form_of`` returns this word.
"""
_PATH_OPTIONS = ("fields", "field.syntax.version", "strict_paths")
"""The options that determine which fields a stage masks. They do not affect what the masked values look like."""


def fingerprints(chain: Chain) -> tuple[str, ...]:
    """Returns a fingerprint (sixteen hex digits) for each ledger entry of ``chain``. An entry keeps its fingerprint as
    long as it refers to the same fields.

    The fingerprint depends on the path, its syntax, the predicate and the earlier stages. A change to any of them can
    change the fields to which the entry refers.
    """
    digits: list[str] = []
    before: list[object] = []
    for stage in chain.stages:
        own = _meaning(stage)
        for effect in stage.transform.ledger():
            text = json.dumps([before, own, effect.action, effect.path, effect.side])
            digits.append(hashlib.sha256(text.encode()).hexdigest()[:16])
        if type(stage) is Stage:  # a subclass is a stage for the columns of the topic table, and renames nothing
            before.append([own, option_texts(stage.transform)])
    return tuple(digits)


def less_hidden(chain: Chain, defined: Chain) -> tuple[LedgerEntry, ...]:
    """Returns the masks and drops that the chain ``defined`` has and ``chain`` lacks.

    A mask or drop of ``defined`` is not returned if ``chain`` hides at least as much:

    - ``chain`` has the same mask or drop without its predicate.
    - ``chain`` drops the field or replaces it with a constant, but the mask in ``defined`` leaves a part of the value.

    Paths are compared by their steps, not by the fields that they match. If ``chain`` hides the same fields under
    different paths, the result contains the masks of ``defined``. There is one more case: ``chain`` has a stage that
    decrypts values or turns tokens back into values, and ``defined`` does not have this stage. The result then contains
    all encryptions and tokenizations of ``defined``.
    """
    present = set()
    for _, target, form, _ in _hidden(chain):
        present.add((target, form))
    opens_more = bool(_openings(chain) - _openings(defined))
    entries = ledger_entries(defined)
    missing = []
    for number, target, form, seals in _hidden(defined):
        ways = []
        # `chain` hides at least as much without a condition, and if nothing of the value is left
        for t in (target, (*target[:-1], "")):
            for f in (form, WHOLLY):
                ways.append((t, f))
        if present.isdisjoint(ways) or (opens_more and seals):
            missing.append(entries[number])
    return tuple(missing)


def _hidden(chain: Chain) -> Iterator[tuple[int, tuple[str, ...], str, bool]]:
    """Yields four items for each mask and drop of ``chain``:

    - the number of its ledger entry (an action that a report counts)
    - a tuple of strings: the side (``key``, ``value`` or ``headers``), the path, and the condition of the stage
    - a string that describes how the value is hidden (see ``_form_of``)
    - True if a holder of the key can restore the values
    """
    for first, stage in zip(first_entries(chain), chain.stages, strict=True):
        form, seals = _form_of(stage), _has_rule(stage, "seals")
        for number, effect in enumerate(stage.transform.ledger(), first):
            if effect.action in HIDES:
                target = (*_target_of(stage, effect), _condition_text(stage))
                yield number, target, WHOLLY if effect.action == "dropped" else form, seals


def _openings(chain: Chain) -> set[tuple[str, ...]]:
    """Returns a tuple of strings for each stage of ``chain`` that decrypts values or turns tokens back into values. The
    strings are the class, the options and the condition of the stage.
    """
    openings: set[tuple[str, ...]] = set()
    for stage in chain.stages:
        if _has_rule(stage, "opens"):
            options = json.dumps(option_texts(stage.transform), sort_keys=True)
            openings.add((stage.connect_class, options, _condition_text(stage)))
    return openings


def _has_rule(stage: Stage, protection: Protection) -> bool:
    effects = stage.transform.effects()
    for effect in effects:
        if isinstance(effect, Change) and effect.rule.protection == protection:
            return True
    return False


def _form_of(stage: Stage) -> str:
    """Returns a string that describes how ``stage`` masks values. If two stages have equal strings, their masks are
    treated as equal. The string is ``WHOLLY`` if every mask writes a constant. Otherwise the string contains the class
    of the stage. For a ``TextTransform``, it also contains the options that are not about paths.
    """
    masks = []
    for e in stage.transform.effects():
        if isinstance(e, Change) and e.action == "masked":
            masks.append(e)
    if masks and all(mask.rule.constant for mask in masks):
        return WHOLLY
    options = {}
    if isinstance(stage.transform, TextTransform):
        for key, text in option_texts(stage.transform).items():
            if key not in _PATH_OPTIONS:
                options[key] = text
    return json.dumps([stage.connect_class, options], sort_keys=True)


def _target_of(stage: Stage, effect: Entry) -> tuple[str, ...]:
    transform, side = stage.transform, effect.side or stage.side
    if effect.explicit and isinstance(transform, NestedPaths):  # steps are comparable across syntaxes
        return side, str(transform.path(effect.path).steps)
    # the same form as the steps above, so that a field is equal in all classes: `('mail',)`
    return side, effect.path if effect.explicit is False else str((effect.path,))


def _condition_text(stage: Stage) -> str:
    if stage.predicate is None:
        return ""
    predicate = stage.predicate
    return json.dumps([predicate.connect_class, option_texts(predicate), stage.negate], sort_keys=True)


def _meaning(stage: Stage) -> list[str]:
    """Returns the class, the two options of the path syntax, and the predicate of ``stage``. Together with the paths,
    these strings determine which fields and records the stage changes.
    """
    syntax = (getattr(stage.transform, name, "") for name in ("field_syntax_version", "strict_paths"))
    return [stage.connect_class, *map(str, syntax), _condition_text(stage)]
