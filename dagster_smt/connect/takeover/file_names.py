"""Reads the names that sinks give to their Parquet files. Each name contains the topic, the partition and the first
offset.

There are three forms of names:

- Confluent's sinks for S3, GCS and Azure: ``TOPIC+PARTITION+OFFSET.parquet``. The option ``file.delim`` may replace
  ``+``.
- Confluent's sink for HDFS, also with the last offset: ``TOPIC+PARTITION+START+END.parquet``.
- Aiven's sinks: the option ``file.name.template`` defines the names.
"""

import re
from dataclasses import dataclass

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.errors import Problem, UnsupportedError

_DELIMITER, _TEMPLATE = "file.delim", "file.name.template"
_OF_AIVEN = "{{topic}}-{{partition}}-{{start_offset}}"
_PLACE = re.compile(r"\{\{\s*([a-z_]+)\s*(?::[^}]*)?\}\}")
_PARTS = {"topic": "(?P<topic>.+?)", "partition": r"(?P<partition>\d+)", "start_offset": r"(?P<start>\d+)"}
_EXTENSION = r"(?:\.\w+)*"
"""Matches the extension of a file, such as ``.parquet``, ``.snappy.parquet`` or ``.gz``. Aiven writes ``.parquet`` only
if the template contains it.
"""


@dataclass(frozen=True)
class FileName:
    """The information that the name of a file contains.

    Attributes:
        topic: The topic.
        partition: The partition.
        start: The offset of the first record.
        end: The offset after the last record; None if the name does not contain it.
    """

    topic: str
    partition: int
    start: int
    end: int | None


@dataclass(frozen=True)
class FileNaming:
    """The form of the names that a connector gives to its files.

    Attributes:
        pattern: A regular expression for a name, or for the end of a path.
        text: The form of a name in messages, such as ``TOPIC+PARTITION+OFFSET.parquet``.
    """

    pattern: re.Pattern[str]
    text: str

    def read(self, path: str) -> FileName | None:
        """Returns the information in ``path``, the path of a file. Returns None if the path does not have the form of
        this connector's names.
        """
        match = self.pattern.search(path)
        if match is None:
            return None
        end = match.groupdict().get("end")
        return FileName(
            match["topic"], int(match["partition"]), int(match["start"]), None if end is None else int(end) + 1
        )


def file_naming(connector: Connector) -> FileNaming | None:
    """Returns the form of the file names of ``connector``. Returns None for a connector that writes no files.

    Raises:
        UnsupportedError: SMT797, the files are not Parquet, or their names do not contain the offsets.
    """
    if family_of(connector) != "files":
        return None
    config = connector.config
    if ".aiven." in connector.class_name:
        _check_format(connector, config.get("format.output.type", "csv"))
        return _by_template(connector, config.get(_TEMPLATE, "").strip() or _OF_AIVEN)
    # the second option is the one of Confluent Cloud, for example PARQUET
    _check_format(connector, config.get("format.class", "") + config.get("output.data.format", ""))
    delimiter = config.get(_DELIMITER, "").strip() or "+"
    parts, names = list(_PARTS.values()), ["TOPIC", "PARTITION", "OFFSET"]
    if "hdfs" in connector.class_name.lower():
        parts.append(r"(?P<end>\d+)")
        names = ["TOPIC", "PARTITION", "START", "END"]
    pattern = re.compile("(?:^|/)" + re.escape(delimiter).join(parts) + _EXTENSION + "$")
    return FileNaming(_in_a_name(pattern), f"{delimiter.join(names)}.parquet")


def _in_a_name(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Returns ``pattern`` with one more condition: the topic in the file name contains no slash."""
    return re.compile(pattern.pattern.replace("(?P<topic>.+?)", "(?P<topic>[^/]+?)"))


def _check_format(connector: Connector, text: str) -> None:
    if "parquet" in text.lower():
        return
    statement = "the connector does not write Parquet files, so its files are no table"
    hint = "let the asset begin with a table of its own: table.start: group:connect-NAME"
    raise UnsupportedError(Problem("SMT797", connector.name, statement, hint))


def _by_template(connector: Connector, template: str) -> FileNaming:
    names = []
    for match in _PLACE.finditer(template):
        names.append(match[1])
    missing = []
    for name in ("topic", "partition", "start_offset"):
        if names.count(name) == 0:
            missing.append(name)
    if missing:
        statement = f"file.name.template has no {{{{{missing[0]}}}}}: the names of files do not say their offsets"
        hint = "let the asset begin with a table of its own: table.start: group:connect-NAME"
        raise UnsupportedError(Problem("SMT797", connector.name, statement, hint))
    pattern, at, seen = "(?:^|/)", 0, set[str]()
    for match in _PLACE.finditer(template):
        pattern += re.escape(template[at : match.start()])
        # a template may contain {{topic}} twice, but a regular expression may define a group only once
        pattern += "[^/]+?" if match[1] in seen else _PARTS.get(match[1], "[^/]+?")
        seen.add(match[1])
        at = match.end()
    pattern += re.escape(template[at:]) + _EXTENSION + "$"
    return FileNaming(_in_a_name(re.compile(pattern)), template)
