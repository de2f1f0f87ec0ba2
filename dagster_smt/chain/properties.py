"""Writes the syntax of Java ``.properties`` files (``java.util.Properties.store``), which ``model.properties``
reads.
"""

from dagster_smt.model.properties import read_properties as read_properties


def written_comment(text: str) -> str:
    """Returns ``text`` as one line of a comment, with escapes for line breaks and other special characters."""
    return f"# {_escaped(text)}"


def written_property(key: str, value: str) -> str:
    """Returns a line of a properties file with ``key`` and ``value``. Special characters are escaped, so that
    ``java.util.Properties`` reads the same key and value.
    """
    # an unescaped space, colon or equals sign would end the key
    return f"{_escaped(key, ' :=')}={_escaped(value)}"


def _escaped(text: str, more: str = "") -> str:
    marks = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", **{c: f"\\{c}" for c in more}}
    chars = []
    for char in text:
        chars.append(marks.get(char) or _printable(char))
    escaped = "".join(chars)
    # a space at the beginning would be skipped, and `#` and `!` would begin a comment
    return f"\\{escaped}" if escaped.startswith((" ", "#", "!")) else escaped


def _printable(char: str) -> str:
    """Returns ``char``. If the character is not printable or cannot be encoded in UTF-8, returns its Java escape
    instead: a backslash, ``u`` and four hex digits. A character above U+FFFF is always returned unchanged.
    """
    if char.isprintable() or ord(char) > 0xFFFF:  # an escape has only four digits
        return char
    return f"\\u{ord(char):04x}"
