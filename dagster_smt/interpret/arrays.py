"""Values that are arrays, as the rows of a topic table: each element as a value of its own."""

from collections.abc import Sequence

from dagster_smt.errors import problem_of_record
from dagster_smt.values.json.lazy import decode_whole

_BEGINNING = (b"[", b" ", b"\t", b"\r", b"\n")


def elements(text: bytes | None) -> list[bytes] | None:
    """The elements of a JSON array, each as its own bytes.

    Returns:
        None if the text is no array, or not readable as a whole: its reader says what is wrong with it.
    """
    if not text or not text.startswith(_BEGINNING):
        return None
    try:
        found = decode_whole(text)
    except Exception as error:  # noqa: BLE001 its reader says what is wrong with it
        problem_of_record(error)
        return None
    if type(found) is list:
        return [bytes(element) for element in found]
    return None


def rows_of(text: bytes | None) -> Sequence[bytes | None]:
    """The elements of an array, of which there may be none; or the value itself, if it is no array."""
    found = elements(text)
    if found is None:
        return [text]
    return found
