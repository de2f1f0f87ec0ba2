"""Searches output records for original values of masked fields. For example, the chain masks ``email``, but the field
``note`` still contains the address. The result contains field names, but never values.

The search covers all other fields of the same output record, its key, its headers and its topic. A value must occur as
a whole word. Short strings and small numbers are not searched for, because they occur everywhere.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.interpret.leaves import Number, leaves
from dagster_smt.interpret.preview import RecordSnapshot, Sample, StageResult, preview
from dagster_smt.model.paths.extended import extended_steps, step_text
from dagster_smt.model.paths.steps import Index
from dagster_smt.model.topics.format import Format

SHORTEST_TEXT = 3
SHORTEST_NUMBER = 5
_COMMON = frozenset({"true", "false", "null", "none", "yes", "unknown"})


def _no_data(name: str) -> bool:
    return False


Survivors = Counter[tuple[str, str]]
"""Counts records by a pair of fields: a masked field, and another field that still contains the original value of the
masked field. For example, ``("value.email", "value.note")`` has the count 12. Array indexes are replaced by ``[]``.
"""


def residue(
    chain: Chain, samples: Iterable[Sample], key: Format, value: Format, is_data: Callable[[str], bool] = _no_data
) -> Survivors:
    """Counts the records in which another field still contains the original value of a masked field.

    Args:
        chain: The chain.
        samples: The records.
        key, value: The formats of keys and values.
        is_data: Returns True if the name of a field is itself data, such as an e-mail address as the key of an object.
            The result contains ``[*]`` instead of this name.
    """
    survivors: Survivors = Counter()
    masks = set()
    for stage in chain.stages:
        if any(e.action == "masked" for e in stage.transform.ledger()):
            masks.add(stage.alias)
    for _, steps in preview(chain, samples, key, value):
        out = _last(steps)
        if out is None:
            continue
        places = _texts(leaves(out))
        pairs = set()
        for path, word in _removed(steps, masks).items():
            for place, text in places.items():
                if place != path and _holds(text, word):
                    pairs.add((_plain(path, is_data), _plain(place, is_data)))
        survivors.update(pairs)
    return survivors


def _last(steps: list[StageResult]) -> RecordSnapshot | None:
    """Returns the record after the chain. ``steps`` are the results of all stages. Returns None if the record was
    dropped or failed.
    """
    ended = steps[-1].failed or steps[-1].note == "dropped"
    records = []
    for step in steps:
        if step.record is not None:
            records.append(step.record)
    if ended or not records:
        return None
    return records[-1]


def _removed(steps: list[StageResult], masks: set[str]) -> dict[str, str]:
    """Returns the original values that the stages in ``masks`` have replaced or removed, as words to search for. The
    result maps the path of a value to the word. Values that are too short to search for are left out.
    """
    removed: dict[str, str] = {}
    before: dict[str, Any] = {}
    for step in steps:
        if step.record is None:
            continue
        now = leaves(step.record)
        if step.stage in masks:
            for path, value in before.items():
                if now.get(path) != value and (word := _word(value)):
                    removed[path] = word
        before = now
    return removed


def _word(value: Any) -> str:
    """Returns ``value`` as a word to search for. Returns an empty string for a value that must not be searched for."""
    if isinstance(value, Number):
        if sum(map(str.isdigit, value)) >= SHORTEST_NUMBER:
            return str(value)
        return ""
    if isinstance(value, str) and len(value.strip()) >= SHORTEST_TEXT and value.lower() not in _COMMON:
        return value
    return ""


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    results = {}
    for path, value in values.items():
        if isinstance(value, str) and value:
            results[path] = value
    return results


def _holds(text: str, word: str) -> bool:
    """Returns True if ``text`` contains ``word`` without a letter or digit directly before or after it."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        # A word that begins with another character, such as +4917, may directly follow a letter.
        open_before = at == 0 or not (text[at - 1].isalnum() and word[0].isalnum())
        open_after = end == len(text) or not (text[end].isalnum() and word[-1].isalnum())
        if open_before and open_after:
            return True
        at = text.find(word, at + 1)
    return False


def _plain(path: str, is_data: Callable[[str], bool]) -> str:
    """Returns ``path`` with ``[]`` instead of positions in arrays, and ``[*]`` instead of names that are data. For
    example, ``value.items[3].id`` becomes ``value.items[].id``. The path of a header stays unchanged, unless the
    header's name is data: it then becomes ``header[*]``.
    """
    if path.startswith("header["):
        # the name follows the position, as in `header[0] trace`
        name = path.partition("] ")[2]
        return "header[*]" if is_data(name) else path
    parts = []
    for number, step in enumerate(extended_steps(path)):
        if isinstance(step, Index):
            parts.append("[]")
        elif isinstance(step, str) and is_data(step):
            parts.append("[*]")
        else:
            parts.append(step_text(step, number == 0))
    return "".join(parts)
