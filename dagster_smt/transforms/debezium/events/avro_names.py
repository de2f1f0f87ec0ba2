"""Adjusts names to Avro's rules in the same way as Debezium's ``schema.name.adjustment.mode`` and
``field.name.adjustment.mode``.
"""

import re
from collections.abc import Callable

NONE, AVRO, AVRO_UNICODE = "none", "avro", "avro_unicode"
_FIRST, _OTHER = re.compile("[A-Za-z_]"), re.compile("[A-Za-z0-9_.]")
_LETTER, _PLAIN = re.compile("[A-Za-z]"), re.compile("[A-Za-z0-9.]")
_IN_FIELD, _PLAIN_IN_FIELD = re.compile("[A-Za-z0-9_]"), re.compile("[A-Za-z0-9]")


def adjusted_name(name: str, mode: str, dots: bool = True) -> str:
    """Returns ``name`` adjusted to Avro's rules for names, according to ``mode``. With ``dots=False``, the name is a
    field name, which may not contain dots.

    ``avro`` replaces each forbidden character with ``_``, and puts ``_`` before a leading digit. ``avro_unicode``
    replaces each forbidden character, and also ``_``, with ``_u`` and the character's number in hex.
    """
    other, plain = (_OTHER, _PLAIN) if dots else (_IN_FIELD, _PLAIN_IN_FIELD)
    if mode == AVRO:
        return _each(name, _FIRST, other, lambda char, first: f"_{char}" if first and char.isdecimal() else "_")
    if mode == AVRO_UNICODE:
        return _each(name, _LETTER, plain, lambda char, first: _escaped(char))
    return name


def _each(name: str, first: re.Pattern[str], other: re.Pattern[str], replaced: Callable[[str, bool], str]) -> str:
    """Returns ``name`` with a replacement for each character that is not allowed at its position. The first character
    must match the pattern ``first``, and all others must match ``other``. As in Java, a character is a UTF-16 unit.

    ``replaced`` returns the replacement for a character. Its second argument is True for the first character.
    """
    data = name.encode("utf-16-be", "surrogatepass")
    units = []
    for n in range(0, len(data), 2):
        units.append(chr(int.from_bytes(data[n : n + 2], "big")))
    fits = (first if n == 0 else other for n in range(len(units)))
    pairs = zip(units, fits, strict=True)
    chars = []
    for char, fit in pairs:
        chars.append(char if fit.fullmatch(char) else replaced(char, fit is first))
    return "".join(chars)


def _escaped(char: str) -> str:
    digits = f"{ord(char):x}"
    if len(digits) <= 2:
        return f"_u00{digits}"
    return f"_u{digits}"
