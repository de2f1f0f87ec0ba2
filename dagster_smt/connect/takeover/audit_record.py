"""Writes the audit record of a takeover (how runs took over a connector's table) as JSON and Markdown, next to the
component. The audit record is written before the first step and again after the last step.
"""

import getpass
import hashlib
import json
import os
from dataclasses import asdict, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.takeover.takeover_parts import TakeOverRecord
from dagster_smt.model.reports.markdown import code, plain, table
from dagster_smt.model.secrets import shows_secret

JSON_FILE, PAGE = "takeover.json", "takeover.md"
HISTORY = "takeover.history.jsonl"
"""The file with the results of all takeovers in the folder, one JSON object per line. A later takeover does not
overwrite earlier lines.
"""


def config_hash(connector: Connector) -> str:
    """Returns the SHA-256 of the configuration of ``connector``. The values of secrets are left out, so that nobody can
    guess them from the hash.
    """
    options = {}
    for name, value in connector.config.items():
        options[name] = "" if shows_secret(name, value) else value
    return hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()


def user() -> str:
    """Returns the name of the user who runs the command."""
    try:
        return getpass.getuser()
    # in a container, the user id may have no name: KeyError before Python 3.13, OSError since then
    except (OSError, KeyError):
        return str(os.getuid())


def now() -> str:
    """Returns the current time as text."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_record(folder: Path) -> TakeOverRecord | None:
    """Returns the audit record of the last takeover that began in ``folder``. Returns None if there is no audit record,
    or if it cannot be read.
    """
    try:
        data: dict[str, Any] = json.loads((folder / JSON_FILE).read_text(encoding="utf-8"))
        known = {field.name for field in fields(TakeOverRecord)}
        parts = {}
        for name, value in data.items():
            if name in known:
                parts[name] = value
        return TakeOverRecord(**parts)
    except (OSError, ValueError, TypeError):
        return None


def write_record(record: TakeOverRecord, folder: Path) -> None:
    """Writes the audit record ``record`` into ``folder``. Each file appears as a whole or not at all."""
    text = json.dumps(asdict(record), indent=2, ensure_ascii=False) + "\n"
    _replace(folder / JSON_FILE, text)
    _replace(folder / PAGE, page_of(record))
    if record.result in ("taken over", "given back", "refused"):
        with (folder / HISTORY).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")


def _replace(file: Path, text: str) -> None:
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def page_of(record: TakeOverRecord) -> str:
    """Returns the audit record ``record`` as a Markdown page."""
    lines = [f"# Takeover of {plain(record.connector)}", "", f"Result: **{record.result}**.", ""]
    facts = [
        ("what", "value"),
        ("connector", code(record.connector)),
        ("class", code(record.connector_class)),
        ("SHA-256 of the configuration without secrets", code(record.config_hash)),
        ("cluster", code(record.cluster)),
        ("table", code(record.table)),
        ("asset", code(record.asset)),
        ("by", plain(record.by)),
        ("begun", record.begun),
        ("ended", record.ended),
        ("tries", str(record.tries)),
        ("connector before", plain(record.state_before)),
        ("connector after", plain(record.state_after)),
        ("rows of the table", "" if record.rows is None else str(record.rows)),
        ("version that was proved", plain(str(record.head_before.get("snapshot", "")))),
        ("version with the note", plain(str(record.head_after.get("snapshot", "")))),
        ("valid through", plain(str(record.head_before.get("valid_through", "")))),
    ]
    lines += [table(facts), ""]
    if record.in_flight:
        lines += ["## Nothing in flight", "", plain(record.in_flight), ""]
    offsets = record.offsets.get("offsets", {})
    if offsets:
        lines += ["## Offsets", "", f"Consumer group: {code(str(record.offsets.get('group', '')))}.", ""]
        rows = [("topic", "partition", "next offset")]
        for topic, partitions in offsets.items():
            for partition, offset in partitions.items():
                rows.append((code(topic), str(partition), str(offset)))
        lines += [table(rows), ""]
    lines += ["## Columns", "", plain(record.compared) or "Not compared.", ""]
    if record.columns:
        cells = [("column", "difference", "text")]
        for c in record.columns:
            cells.append((code(c["column"]), c["kind"], plain(c["text"])))
        lines += [table(cells), ""]
    if record.problems:
        lines += ["## Problems", "", *(f"- {plain(text)}" for text in record.problems), ""]
    return "\n".join(lines)
