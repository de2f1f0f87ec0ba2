"""Names and texts of others on one line: in messages, logs and on a terminal."""

import json
import unicodedata


def visible(text: str) -> str:
    r"""Return the text with everything that does not print as an escape.

    Line breaks, the escapes of terminals, marks that turn the direction of writing and halves of characters would
    forge lines or hide what stands there. They become what JSON writes for them, such as ``\n`` and ``\u001b``.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_visible(char) else json.dumps(char)[1:-1] for char in text)


def _is_visible(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"
