"""Splits values that are arrays into rows of a topic table. Each element becomes a separate row."""

from collections.abc import Sequence

from dagster_smt.errors import problem_of_record
from dagster_smt.values.json.lazy import decode_whole, may_need_utf8

_BEGINNING = (b"[", b" ", b"\t", b"\r", b"\n")


def elements(text: bytes | None) -> list[bytes] | None:
    """Returns the elements of ``text``, a JSON array, each as separate bytes.

    Returns None if the JSON is not an array or not readable. The reader of the value then reports the problem.
    """
    # Most values are objects, and need not be decoded here. UTF-16 and a byte order mark hide the first character, so
    # such texts are decoded.
    if not text or not (text.startswith(_BEGINNING) or may_need_utf8(text)):
        return None
    try:
        value = decode_whole(text)
    except Exception as error:  # noqa: BLE001 - the reader of the value reports the problem
        problem_of_record(error)
        return None
    if type(value) is list:
        return [bytes(element) for element in value]
    return None


def rows_of(text: bytes | None) -> Sequence[bytes | None]:
    """Returns the elements of ``text`` if it is a JSON array. Otherwise returns ``text`` itself as the only element."""
    rows = elements(text)
    if rows is None:
        return [text]
    return rows
