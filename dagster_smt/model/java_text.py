"""Java's ideas of blanks in texts, where they are not Python's."""

BLANKS = "".join(map(chr, range(33)))
"""What ``String.trim`` cuts off: everything up to U+0020. Other blanks, such as U+00A0, are part of a text."""


def trim(text: str) -> str:
    """``String.trim``."""
    return text.strip(BLANKS)
