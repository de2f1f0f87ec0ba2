"""Reads Java ``.properties`` files, as ``java.util.Properties.load`` does."""

import re

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE = re.compile(r"[0-9a-fA-F]{4}")


def read_properties(text: str) -> dict[str, str]:
    """Returns the properties in ``text``, the content of a file. Comments, continued lines and escapes are supported.

    If a key repeats, the last one wins.
    """
    properties: dict[str, str] = {}
    for line in logical_lines(text):
        key, value = _split(line)
        properties[_unescape(key)] = _unescape(value)
    return properties


def logical_lines(text: str) -> list[str]:
    """Returns the lines of ``text`` that contain properties, without comments and blank lines. Continued lines are
    joined.
    """
    lines: list[str] = []
    continued = False
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        # a continued line is never a comment or a blank line: "a=one\", "# two" is the property "one# two"
        if continued:
            lines[-1] += line
        elif line and line[0] not in "#!":
            lines.append(line)
        else:
            continue
        # only an odd number of backslashes continues the line: in "a=one\\", the second backslash is escaped
        slashes = len(line) - len(line.rstrip("\\"))
        continued = slashes % 2 == 1
        if continued:
            lines[-1] = lines[-1][:-1]
    return lines


def _split(line: str) -> tuple[str, str]:
    at = 0
    while at < len(line) and line[at] not in "=: \t\f":
        # an escaped separator belongs to the key: "a\=b=1" has the key "a=b"
        at += 2 if line[at] == "\\" else 1
    rest = line[at:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return line[:at], rest


def _unescape(text: str) -> str:
    out, at = [], 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "\\" or at == len(text):
            out.append(char)
            continue
        char = text[at]
        at += 1
        if char == "u" and _UNICODE.match(text, at):
            out.append(chr(int(text[at : at + 4], 16)))
            at += 4
        else:
            out.append(_ESCAPES.get(char, char))
    return _joined("".join(out))


def _joined(text: str) -> str:
    """Joins each pair of surrogate halves in ``text`` into one character, because Java escapes each half separately."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
