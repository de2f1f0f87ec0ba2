"""Names that Avro takes, as Debezium makes them of any others (``schema.`` and ``field.name.adjustment.mode``)."""

import re
from collections.abc import Callable

NONE, AVRO, AVRO_UNICODE = "none", "avro", "avro_unicode"
_FIRST, _OTHER = re.compile("[A-Za-z_]"), re.compile("[A-Za-z0-9_.]")
_LETTER, _PLAIN = re.compile("[A-Za-z]"), re.compile("[A-Za-z0-9.]")
_IN_FIELD, _PLAIN_IN_FIELD = re.compile("[A-Za-z0-9_]"), re.compile("[A-Za-z0-9]")


def adjusted_name(name: str, mode: str, dots: bool = True) -> str:
    """The name of a schema under a mode; without ``dots`` that of a field.

    ``avro`` puts ``_`` in place of what Avro does not take, and before a digit at the start. ``avro_unicode`` puts
    ``_u`` and the number of the character in hex; ``_`` itself is then one of those characters.
    """
    other, plain = (_OTHER, _PLAIN) if dots else (_IN_FIELD, _PLAIN_IN_FIELD)
    if mode == AVRO:
        return _each(name, _FIRST, other, lambda char, first: f"_{char}" if first and char.isdecimal() else "_")
    if mode == AVRO_UNICODE:
        return _each(name, _LETTER, plain, lambda char, first: _escaped(char))
    return name


def _each(name: str, first: re.Pattern[str], other: re.Pattern[str], replaced: Callable[[str, bool], str]) -> str:
    """Replace what does not fit, by units of UTF-16 as Java counts them."""
    data = name.encode("utf-16-be", "surrogatepass")
    units = [chr(int.from_bytes(data[n : n + 2], "big")) for n in range(0, len(data), 2)]
    fits = (first if n == 0 else other for n in range(len(units)))
    pairs = zip(units, fits, strict=True)
    return "".join(char if fit.fullmatch(char) else replaced(char, fit is first) for char, fit in pairs)


def _escaped(char: str) -> str:
    digits = f"{ord(char):x}"
    if len(digits) <= 2:
        return f"_u00{digits}"
    return f"_u{digits}"
