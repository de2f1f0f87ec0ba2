"""Formats many instants at once. The string of each day is formatted only once. The times of day are computed with
arrays of numpy.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dagster_smt.values.java.calendar import DAY

_FIELD = re.compile(r"%(?:0(\d+)d|s|%)")
_MOST_DAYS = 1000
_MOST_DIGITS = {"H": 2, "K": 2, "m": 2, "s": 2, "S": 3}
"""Maps the letter of each time-of-day field to the largest number of digits that the field can have."""


class _Layout(NamedTuple):
    """The string of a day with zeros in place of the time of day: ``2020-01-31 00:00``. ``places`` contains the
    position and the number of digits of each field: ``((11, 2), (14, 2))``.
    """

    text: str
    places: tuple[tuple[int, int], ...]


def texts_of(
    instants: list[int],
    of_day: Callable[[int], str],
    letters: Sequence[str],
    clock: dict[str, Callable[[Any], Any]],
) -> list[str] | None:
    """Returns ``instants``, which are in milliseconds, as strings.

    Args:
        instants: Whole numbers.
        of_day: Returns the string of a day, with a format in place of each field of the time of day: ``2020-01-31
            %02d:%02d``.
        letters: The letters of the fields of the time of day, in order: ``["H", "m"]``.
        clock: Maps each letter to a function that computes the field from the milliseconds since midnight.

    Returns:
        The strings. None if the instants must be formatted one by one: for example, if the strings of the days have
        different lengths, or if a field has no fixed width.
    """
    import numpy as np  # imported here, because the Python evaluator does not need it

    if not instants or not letters or not _MOST_DIGITS.keys() >= set(letters):
        return None
    try:
        days, within = np.divmod(np.array(instants, np.int64), DAY)
    except OverflowError:  # an instant of more than 64 bits
        return None
    known, which = np.unique(days, return_inverse=True)
    if len(known) > _MOST_DAYS:
        return None
    layouts = [_layout(of_day(day), letters) for day in known.tolist()]
    first = layouts[0]
    if first is None or any(a is None or a.places != first.places or len(a.text) != len(first.text) for a in layouts):
        return None
    width = len(first.text)
    rows = "".join(layout.text for layout in layouts if layout is not None).encode()
    out = np.frombuffer(rows, np.uint8).reshape(-1, width)[which]
    for letter, (start, digits) in zip(letters, first.places, strict=True):
        number = clock[letter](within)
        for at in reversed(range(start, start + digits)):
            number, digit = np.divmod(number, 10)
            out[:, at] = digit + ord("0")
    texts: list[str] = out.view(f"S{width}")[:, 0].astype("U").tolist()
    return texts


def _layout(template: str, letters: Sequence[str]) -> _Layout | None:
    places, text, last = [], "", 0
    for match in _FIELD.finditer(template):
        if match[1] is None:
            return None
        text += template[last : match.start()]
        places.append((len(text), int(match[1])))
        text, last = text + "0" * int(match[1]), match.end()
    text += template[last:]
    wide = len(places) == len(letters) and all(n >= _MOST_DIGITS[x] for x, (_, n) in zip(letters, places, strict=True))
    # the array has one byte per character, and numpy drops zero bytes at the end of a string
    if wide and text.isascii() and "\0" not in text:
        return _Layout(text, tuple(places))
    return None
