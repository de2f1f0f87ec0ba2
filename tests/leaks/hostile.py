"""Records that fail, or that hold personal values where no field is expected: each as a change of a plain record."""

import json

from dagster_smt.tables.sources.file_writer import NewRecord


def _escaped(text):
    return "".join(f"\\u{ord(char):04x}" for char in text)


def _deep(value, levels=60):
    for _ in range(levels):
        value = {"d": value}
    return value


def _member(value, text):
    """Returns an object with one more member, as text."""
    return value[:-1] + b", " + text.encode() + b"}"


def _dump(data):
    return json.dumps(data).encode()


# Values that are no object, or whose fields have other types. Each keeps ``id`` as it is.
VALUES = {
    "a name as a number": lambda value, data: _dump({**data, "amount": data["name"]}),
    "cut": lambda value, data: value[:-9],
    "cut inside a name": lambda value, data: value[: value.index(data["name"].encode()) + 12],
    "an address alone": lambda value, data: _dump(data["mail"]),
    "a name without quotes": lambda value, data: data["name"].encode(),
    "a card number alone": lambda value, data: data["card"].replace(" ", "").replace("-", "").encode(),
    "an array": lambda value, data: _dump([data]),
    "an array of names": lambda value, data: _dump([data["name"], data["mail"]]),
    "a key that is an address": lambda value, data: _dump({**data, "card": {data["mail"]: data["name"]}}),
    "a field that is an address": lambda value, data: _dump({**data, data["mail"]: data["card"]}),
    "a field that is an account": lambda value, data: _dump({data["bank"]: data["name"], **data}),
    "half a character": lambda value, data: _member(value, f'"name": "{data["name"]} \\ud800"'),
    "bytes that are no text": lambda value, data: value[:-1] + b"\xff}",
    "a name before bytes that are no text": lambda value, data: value.replace(
        b'"bank', data["name"].encode() + b"\xc3"
    ),
    "a struct for a number": lambda value, data: _dump({**data, "amount": [{"deep": data["bank"]}]}),
    "a number of many digits": lambda value, data: _dump({**data, "amount": f"{data['card']}9999"}),
    "twice a name": lambda value, data: _member(value, f'"name": "{data["name"]}", "mail": "{data["mail"]}"'),
    "escapes": lambda value, data: _member(value, f'"name": "{_escaped(data["name"])}"'),
    "a name with escapes": lambda value, data: _member(value, f'"\\u006eame": "{data["name"]}"'),
    "a name in capitals": lambda value, data: _member(value, f'"NAME": "{data["name"].upper()}"'),
    "an unknown field": lambda value, data: _member(value, f'"nickname": "{data["name"]}"'),
    "a deep field": lambda value, data: _dump({**data, "extra": _deep(data["name"])}),
    "a thousand brackets": lambda value, data: value[:-1] + b', "x": ' + b"[" * 1000 + _dump(data["name"]),
    "a struct for an array": lambda value, data: _dump({**data, "contacts": {"mail": data["mail"], "x": data["name"]}}),
    "a string for an array": lambda value, data: _dump({**data, "contacts": data["mail"]}),
    "an array of strings": lambda value, data: _dump({**data, "contacts": [data["mail"], [data["name"]]]}),
    "a struct for a string": lambda value, data: _dump(
        {**data, "name": {"first": data["name"]}, "mail": [data["mail"]]}
    ),
    "a note with structure": lambda value, data: _dump({**data, "note": {"text": data["note"], data["mail"]: 1}}),
    "numbers for strings": lambda value, data: _dump(
        {**data, "bank": int(data["bank"][2:]), "card": int("".join(filter(str.isdigit, data["card"])))}
    ),
    "an address for an ip": lambda value, data: _dump({**data, "ip": data["mail"], "bank": data["name"]}),
    "another encoding": lambda value, data: value.decode().encode("utf-16"),
    "behind the end": lambda value, data: value + b" " + _dump(data["name"]),
    "two objects": lambda value, data: value + value,
    "no value": lambda value, data: None,
}  # fmt: skip
KEYS = {
    "a key of JSON": lambda key: b'{"name": "' + key + b'"}',
    "a broken key": lambda key: b'{"name": "' + key,
    "a key that is no text": lambda key: key + b"\xff\xfe",
}


def hostile(number, key, value, name, *, strange_headers=True):
    """Returns the record of a number: every fourth is hostile, in one way after the other.

    Args:
        number: The number of the record.
        key, value: A plain record.
        name: A personal value for headers.
        strange_headers: Gives records headers that no chain can name.
    """
    headers = [("person", name.encode())]
    if number % 4 == 3:
        turn = number // 4
        change = list(VALUES.values())[turn % len(VALUES)]
        value = change(value, json.loads(value))
        if strange_headers and turn % 3 == 0:
            headers.append((f"{name}@mail.example.org", b"1"))
        if strange_headers and turn % 5 == 0:
            headers.append(("broken", name.encode() + b"\xff"))
        if turn % 7 == 0:
            key = list(KEYS.values())[turn // 7 % len(KEYS)](key)
    return NewRecord(key, value, tuple(headers), 1700000000000 + number)
