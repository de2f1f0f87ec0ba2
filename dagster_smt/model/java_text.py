"""Java's blanks in texts, which are not Python's."""

BLANKS = "".join(map(chr, range(33)))
"""The characters that ``String.trim`` cuts off: all up to U+0020. Other blanks, such as U+00A0, stay."""


def trim(text: str) -> str:
    """Returns a text without blanks at its ends, as ``String.trim`` does."""
    return text.strip(BLANKS)
