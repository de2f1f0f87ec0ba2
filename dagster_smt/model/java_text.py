"""Handles Java's whitespace in strings, which differs from Python's."""

BLANKS = "".join(map(chr, range(33)))
"""The characters that ``String.trim`` removes, which are all characters up to U+0020. Other whitespace, such as U+00A0,
stays.
"""


def trim(text: str) -> str:
    """Removes whitespace from both ends of ``text``, as ``String.trim`` does."""
    return text.strip(BLANKS)
