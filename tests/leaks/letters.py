"""What dead letters hold: the key, the value and the headers of the record as they were, and a context without values.

The judge of letters compares each letter with the record that its context names.
"""

import base64
import json

import pyarrow.parquet as pq

from tests.leaks.judge import in_text

CONTEXT = ("__connect.errors.", "dagster_smt.")
_PLACE = tuple(f"__connect.errors.{part}" for part in ("topic", "partition", "offset"))


def leaking_letters(values, folder):
    """Returns the letters whose context holds values, and those that differ from their record, by file."""
    leaking = {}
    for path, letters in _letters(folder):
        originals = {}
        for letter in letters:
            context = [header for header in letter["headers"] if header["key"].startswith(CONTEXT)]
            for header in context:
                if hits := in_text(values, f"{header['key']} {header['value']}"):
                    leaking.setdefault(f"context in {path}", set()).update(sorted(hits)[:8])
            topic, partition, offset = _place(context)
            if topic not in originals:
                originals[topic] = _records(folder, topic)
            if _content(letter) != _content(originals[topic][int(partition), int(offset)]):
                leaking.setdefault(f"not the record in {path}", set()).add(f"{topic} {partition} {offset}")
    return leaking


def _place(context):
    texts = {header["key"]: _bytes(header["value"]).decode() for header in context}
    return (texts[name] for name in _PLACE)


def _content(record):
    headers = []
    for header in record["headers"] or ():
        if not header["key"].startswith(CONTEXT):
            headers.append((header["key"], _bytes(header["value"])))
    return _bytes(record["key"]), _bytes(record["value"]), headers


def _bytes(value):
    """Returns the bytes of a key, a value or a header: files hold text, or Base64 where it is no text."""
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    if isinstance(value, str):
        return value.encode()
    return value


def _lines(folder):
    for path in sorted(folder.rglob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)


def _records(folder, topic):
    """Returns the records of a topic of files, or of the copy of a topic of the broker, by partition and offset."""
    here = folder / "topics" / topic
    place = here if here.exists() else folder / "kafka" / topic
    return {(record["partition"], record["offset"]): record for record in _lines(place)}


def _letters(folder):
    """Yields each place of dead letters, and its letters."""
    for place in sorted((folder / "letters").glob("*.dead")):
        yield place, list(_lines(place))
    for place in sorted((folder / "kafka").glob("*.dead")):
        yield place, list(_lines(place))
    for path in sorted((folder / "letter_table").glob("*.parquet")):
        yield path, pq.read_table(path).to_pylist()
