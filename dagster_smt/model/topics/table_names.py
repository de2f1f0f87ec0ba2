"""Derives table names from topic names. Each name can be converted back, and no name is a path to another folder.

``orders`` stays ``orders``; ``shop.orders`` becomes ``shop_2eorders`` in a catalog. An escape consists of an underscore
and the two hex digits of a byte. An underscore is itself escaped if it could be read as the beginning of an escape.
"""

import re
from collections.abc import Collection, Iterable

from dagster_smt.errors import Problem
from dagster_smt.model.caseless import caseless

TOPIC = "{topic}"
"""The placeholder for the topic in a sink's path or table name."""
PROGRESS = "_smt_progress"
"""The name of the table that stores the progress (the offsets that runs have reached) of a sink with ``{topic}``. For
the sink ``lake.{topic}``, it is ``lake._smt_progress``.
"""
DELETIONS = "__deleted"
"""The suffix of the name of a table that remembers deleted keys. For example, ``orders__deleted`` may contain the keys
of the rows that were deleted from ``orders``.
"""
MOST_CHARACTERS = 200
"""The largest length of a table name. File names have at most 255 bytes, and the names of some further tables consist
of a table name and a suffix.
"""
# bytes, because a character beyond ASCII becomes an escape for each of its bytes in UTF-8
_ESCAPE = re.compile(rb"_([0-9a-f]{2})")
_IN_CATALOG = re.compile(rb"[A-Za-z0-9_]")
_IN_PATH = re.compile(rb"[A-Za-z0-9_.-]")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"[^.`]*\{topic\}[^.`]*")


def name_in_catalog(topic: str) -> str:
    """Returns the name of the table for ``topic`` in a catalog. It consists of letters, digits and underscores, which
    every catalog accepts.

    Example:
        >>> name_in_catalog("shop.orders")
        'shop_2eorders'
    """
    return _escaped(topic, _IN_CATALOG)


def name_in_path(topic: str) -> str:
    """Returns the name of the folder that contains the table for ``topic``.

    Unlike the name in a catalog, this name may contain dots and hyphens. It never begins with a dot.

    Example:
        >>> name_in_path("../shop.orders")
        '_2e._2fshop.orders'
    """
    name = _escaped(topic, _IN_PATH)
    # a chain may choose the topics "." and "..", which must not become paths to other folders
    if name.startswith("."):
        return f"_2e{name[1:]}"
    return name


def topic_of_name(name: str) -> str:
    """Returns the topic for ``name``, a table name that ``name_in_catalog`` or ``name_in_path`` returned."""
    return _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), name.encode()).decode(errors="surrogatepass")


def table_of_topic(template: str, topic: str) -> str:
    """Returns ``template`` with the table name of ``topic``, as SQL: ``lake.{topic}`` becomes ``lake.orders``."""
    part = _PART.search(template)
    assert part is not None
    name = part[0].replace(TOPIC, name_in_catalog(topic))
    is_quoted = part.start() > 0 and template[part.start() - 1] == "`"
    if not is_quoted and not _PLAIN.fullmatch(name):  # the name contains no backtick: see name_in_catalog
        name = "`" + name + "`"
    return template[: part.start()] + name + template[part.end() :]


def path_of_topic(template: str, topic: str) -> str:
    """Returns ``template``, a path, with the folder name of ``topic``: ``lake/{topic}`` becomes ``lake/orders``."""
    return template.replace(TOPIC, name_in_path(topic))


def template_problem(path: str, table: str) -> Problem | None:
    """Returns the problem of a sink whose ``path`` or ``table`` uses ``{topic}`` wrongly, for example twice. Returns
    None if there is no problem.
    """
    text = path or table
    if text.count(TOPIC) > 1:
        return Problem("SMT730", text, f"holds {TOPIC} more than once", "leave one of them")
    part = _PART.search(table)
    if part is not None and "." in table[part.end() :].replace("`", ""):
        hint = "name an existing database, and let the topic name the table: lake.{topic}"
        return Problem("SMT730", text, "the topic would name a database, and runs do not create databases", hint)
    return None


def unfit_topics(topics: Iterable[str], known: Collection[str], *, keeps_deletions: bool) -> dict[str, Problem]:
    """Returns the problem of each topic in ``topics`` that cannot have a table.

    Args:
        topics: The output topics of the chain.
        known: The topics that already have a table.
        keeps_deletions: True if each table has a second table, which remembers deleted keys.
    """
    names: dict[str, set[str]] = {}
    for topic in {*topics, *known, PROGRESS}:
        names.setdefault(caseless(topic), set()).add(topic)
    problems = {}
    for topic in topics:
        others = names[caseless(topic)] - {topic}
        problem = _unfit(topic, keeps_deletions=keeps_deletions)
        # a topic that already has a table keeps it: only the new topic is refused
        if problem is None and others and (topic not in known or PROGRESS in others):
            problem = _clash(topic, min(others))
        if problem is not None:
            problems[topic] = problem
    return problems


def _unfit(topic: str, *, keeps_deletions: bool) -> Problem | None:
    hint = "choose another topic in the chain (RegexRouter)"
    if not topic:
        return Problem("SMT731", "(empty)", "the empty topic names no table", hint)
    if len(name_in_catalog(topic)) > MOST_CHARACTERS:
        statement = f"the name of its table would have more than {MOST_CHARACTERS} characters"
        return Problem("SMT731", f"{topic[:40]}…", statement, hint)
    if topic == PROGRESS:
        return Problem("SMT731", topic, "the table of this name holds the progress of the runs", hint)
    if keeps_deletions and caseless(topic).endswith(DELETIONS):
        return Problem("SMT731", topic, "tables of this name hold the deletions of other tables", hint)
    return None


def _clash(topic: str, other: str) -> Problem:
    statement = f"topics '{topic}' and '{other}' differ in case only, and not every catalog tells their tables apart"
    return Problem("SMT732", topic, statement, "give one of them another name in the chain (RegexRouter)")


def _escaped(topic: str, plain: re.Pattern[bytes]) -> str:
    # a topic that comes from JSON may contain half a surrogate pair, which UTF-8 cannot encode
    text = topic.encode(errors="surrogatepass")
    parts = []
    for position in range(len(text)):
        byte = text[position : position + 1]
        # an underscore before two hex digits is escaped, too: otherwise "a_2e" would be converted back into "a."
        if plain.fullmatch(byte) and not (byte == b"_" and _ESCAPE.match(text, position)):
            parts.append(byte.decode())
        else:
            parts.append(f"_{byte.hex()}")
    return "".join(parts)
