"""Texts of many instants at once: what the instants of a day share is laid out once, the time of day in arrays."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dagster_smt.values.java.calendar import DAY

_FIELD = re.compile(r"%(?:0(\d+)d|s|%)")
_MOST_DAYS = 1000
_NEEDED = {"H": 2, "K": 2, "m": 2, "s": 2, "S": 3}
"""How many digits a field of the time of day can have."""


class _Layout(NamedTuple):
    """The text of a day with zeros for the time of day, and where these are: (first character, how many)."""

    text: str
    places: tuple[tuple[int, int], ...]


def texts_of(
    instants: list[int],
    of_day: Callable[[int], str],
    letters: Sequence[str],
    clock: dict[str, Callable[[Any], Any]],
) -> list[str] | None:
    """The texts of instants in milliseconds.

    Args:
        instants: Whole numbers.
        of_day: Gives the text of a day, with ``%02d`` for a field of the time of day.
        letters: The letters of these fields.
        clock: What each letter makes of the milliseconds of a day.

    Returns:
        None where the texts are not laid out alike, there are no fields, or they have no fixed width.
    """
    import numpy as np  # the interpreter does without it

    if not instants or not letters or not _NEEDED.keys() >= set(letters):
        return None
    try:
        days, within = np.divmod(np.array(instants, np.int64), DAY)
    except OverflowError:
        return None
    known, which = np.unique(days, return_inverse=True)
    if len(known) > _MOST_DAYS:
        return None
    layouts = [_layout(of_day(day), letters) for day in known.tolist()]
    first = layouts[0]
    if first is None or any(a is None or a.places != first.places or len(a.text) != len(first.text) for a in layouts):
        return None
    width = len(first.text)
    told = "".join(layout.text for layout in layouts if layout is not None).encode()
    out = np.frombuffer(told, np.uint8).reshape(-1, width)[which]
    for letter, (start, digits) in zip(letters, first.places, strict=True):
        number = clock[letter](within)
        for at in reversed(range(start, start + digits)):
            number, digit = np.divmod(number, 10)
            out[:, at] = digit + ord("0")
    found: list[str] = out.view(f"S{width}")[:, 0].astype("U").tolist()
    return found


def _layout(template: str, letters: Sequence[str]) -> _Layout | None:
    places, text, last = [], "", 0
    for found in _FIELD.finditer(template):
        if found[1] is None:
            return None
        text += template[last : found.start()]
        places.append((len(text), int(found[1])))
        text, last = text + "0" * int(found[1]), found.end()
    text += template[last:]
    wide = len(places) == len(letters) and all(n >= _NEEDED[x] for x, (_, n) in zip(letters, places, strict=True))
    if wide and text.isascii() and "\0" not in text:
        return _Layout(text, tuple(places))
    return None
