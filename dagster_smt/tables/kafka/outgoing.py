"""Prepares dead letters for a topic with a size limit. A dead letter that is too long is shortened in steps."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from dagster_smt.tables.kafka.sizes import record_size

Header = tuple[str, bytes | None]
Parts = tuple[bytes | None, bytes | None, list[Header]]
"""The key, the value and the headers of a record."""
LEFT_OUT = "dagster_smt.left_out"
"""The header of a dead letter that was too long for its topic. The header contains the sizes of the parts that have
been left out.
"""
_CONTEXT = ("__connect.errors.", "dagster_smt.")
_MESSAGE = "__connect.errors.exception.message"
_CLASSES = ("__connect.errors.exception.class.name", "__connect.errors.class.name")


@dataclass
class Outgoing:
    """A dead letter to send. If it is too long for its topic, it can be sent in shorter forms, such as without its
    value.

    Attributes:
        topic: The target topic.
        forms: The forms, from the complete dead letter to the shortest one; see ``forms_of``.
        source: The coordinates (topic, partition and offset) of the original record.
        parts: The form to send next: key, value and headers. None if no form is left.
        size: The approximate size of ``parts`` in bytes.
        shortened: True if ``parts`` is not the complete dead letter.
        shortest: True if ``parts`` is the last form.
    """

    topic: str
    forms: Iterator[Parts]
    source: tuple[Any, ...] = ()
    parts: Parts | None = None
    size: int = 0
    shortened: bool = False
    shortest: bool = False
    _after: Parts | None = None

    def __post_init__(self) -> None:
        self._after = next(self.forms, None)
        self.shorten()

    def shorten(self) -> None:
        """Selects the next shorter form of the dead letter, and stores it in ``parts``. If there is no shorter form,
        ``parts`` becomes None.
        """
        self.parts, self._after = self._after, next(self.forms, None)
        self.shortest = self._after is None
        self.size = record_size(*self.parts) if self.parts is not None else 0
        self.shortened = self.parts is not None and any(name == LEFT_OUT for name, _ in self.parts[2])


def forms_of(
    key: bytes | None, value: bytes | None, headers: list[Header], limit: int, identity: Collection[str] = ()
) -> Iterator[Parts]:
    """Yields shorter and shorter forms of a dead letter. Forms that exceed ``limit`` are left out, so the result may be
    empty. The forms are:

    1. The complete dead letter.
    2. The dead letter without key and value. One more header contains their sizes.
    3. Form 2 without the headers of the original record.
    4. Form 3 without the class names of the error. Of the error's message, only the code is left.
    5. Only the headers that identify the record, and an empty header ``dagster_smt.left_out``.

    Args:
        key, value, headers: The dead letter.
        limit: The largest permitted size in bytes.
        identity: The headers that identify the record.
    """
    size = record_size(key, value, headers)
    if size <= limit:
        yield key, value, headers
    lengths = (f"{name} {'null' if part is None else len(part)}" for name, part in (("key", key), ("value", value)))
    note = (LEFT_OUT, f"{', '.join(lengths)}, record {size} bytes, limit {limit}".encode())
    context = {}
    for name, content in headers:
        if name.startswith(_CONTEXT):
            # the last header of a name counts: if the failed record is itself a dead letter, it already has such
            # headers, and Connect appends new headers at the end
            context[name] = content
    brief = {}
    for name, content in context.items():
        if name not in _CLASSES:
            brief[name] = _brief(name, content)
    last_of_each = {}
    for name, content in context.items():
        if name in identity:
            last_of_each[name] = content
    for left in (headers, [*context.items()], [*brief.items()]):
        if record_size(None, None, [*left, note]) <= limit:
            yield None, None, [*left, note]
    if record_size(None, None, [*last_of_each.items(), (LEFT_OUT, b"")]) <= limit:
        yield None, None, [*last_of_each.items(), (LEFT_OUT, b"")]


def _brief(name: str, content: bytes | None) -> bytes | None:
    """Returns a short form of ``content``, the content of the header ``name``. If the header contains the text of a
    problem, the short form is only the first word of the text, such as ``SMT443``. The content of every other header is
    returned unchanged.
    """
    if name == _MESSAGE and content is not None:
        return content.split(b" ")[0]
    return content
