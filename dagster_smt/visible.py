"""Names and texts from outside, on one line: for messages, logs and terminals."""

import json
import unicodedata


def visible(text: str) -> str:
    r"""Returns the text with an escape for each character that does not print.

    Line breaks, the escapes of terminals, marks that change the direction of writing and halves of characters could
    forge lines or hide text. JSON's escapes replace them, such as ``\n`` and ``\u001b``.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_visible(char) else json.dumps(char)[1:-1] for char in text)


def _is_visible(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"
