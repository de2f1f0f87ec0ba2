"""Finds the Spark session of a Dagster project. If the project has none, writes a file with a session."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dagster_smt.connect.component import ConnectorComponent
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.iceberg_catalog import DEFAULT_CATALOG, catalog_conf, catalog_name, without_secrets
from dagster_smt.connect.template_text import template_text

SESSION_FILE = "spark.py"
_OTHER_FILE = "spark_session.py"
"""The name of the file if the project uses ``spark.py`` for something else."""
_MASTER = {"spark.master": "local[*]"}
# the class of a resource, or an entry {"spark": …} in the resources of Definitions
_RESOURCE = re.compile(r"SparkSessionResource|PySparkResource|[\"']spark[\"']\s*:")
_SPARK = re.compile(r"^\s*spark:", re.MULTILINE)
_TEXT = '''"""The Spark session of the project's tables: one for all of them, as a process has one."""

import dagster as dg

from dagster_smt import SparkSessionResource

CONF = {}


@dg.definitions
def session() -> dg.Definitions:
    """The session of all tables; write secrets as ${env:NAME}."""
    return dg.Definitions(resources={"spark": SparkSessionResource(conf=CONF)})
'''


@dataclass
class ProjectSession:
    """The Spark session that the components of a project need.

    Attributes:
        conf: The settings of the session, with references in place of secrets.
        variables: Maps each environment variable in these references to the setting whose value is the secret.
        file: The file that was written; None if the project has a session, or if no project was recognised.
        in_project: True if the components are in a project, which has a folder ``defs``.
    """

    conf: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    file: Path | None = None
    in_project: bool = False

    def to_do(self) -> Iterator[str]:
        """Yields one line for each step that the user still has to take, so that the project has the session. No line
        contains the value of a setting.
        """
        catalogs = [setting for setting in self.conf if setting not in _MASTER]
        if self.file is None and not self.in_project:
            yield "give the project a SparkSessionResource: dagster-smt writes it if the folder of --to is in defs"
        elif self.file is None and catalogs:
            yield f"add to the project's Spark session, which the command left as it is: {', '.join(catalogs)}"
        for variable, setting in self.variables.items():
            yield f"set the environment variable {variable}, the secret of {setting}"
        for setting, value in self.conf.items():
            if value.startswith("jdbc:"):
                yield f"add the driver of the database of {setting} to the session: spark.jars.packages"


def session_for(parts: Iterable[tuple[Connector, ConnectorComponent]]) -> ProjectSession:
    """Returns the Spark session that the components of Iceberg sinks need. Changes the table name of each such
    component: ``shop.orders`` becomes ``iceberg.shop.orders``, if the sink's catalog is called ``iceberg``.

    The catalog does not become the session's default catalog, so that the names of other tables in the project keep
    their meaning.
    """
    session = ProjectSession()
    catalogs: dict[str, dict[str, str]] = {}
    for connector, component in parts:
        if "iceberg" not in component.attributes.get("sink", {}):
            continue
        conf = catalog_conf(connector.config)
        if not conf:
            continue
        name = _free_name(connector, catalogs)
        catalogs[name] = conf
        safe, variables = without_secrets(catalog_conf(connector.config, name))
        del safe[DEFAULT_CATALOG]
        sink = component.attributes["sink"]["iceberg"]
        sink["table"] = f"{template_text(name)}.{sink['table']}"
        session.conf |= safe
        session.variables |= variables
    return session


def _free_name(connector: Connector, catalogs: Mapping[str, Mapping[str, str]]) -> str:
    """Returns a name for the catalog of ``connector``. The name gets a number if a different catalog in ``catalogs``
    already has it.
    """
    conf = catalog_conf(connector.config)
    for name, other in catalogs.items():
        if other == conf:
            return name
    first = catalog_name(connector.config)
    name, number = first, 2
    while name in catalogs:
        name = f"{first}_{number}"
        number += 1
    return name


def write_session(session: ProjectSession, folder: Path) -> None:
    """Writes the session into a project that has no session yet. A project must not have two sessions.

    Args:
        session: The session. Its ``file`` and ``in_project`` are set.
        folder: The folder of the components, which is the folder ``defs`` of the project or a folder in it.
    """
    defs = next((place for place in (folder.absolute(), *folder.absolute().parents) if place.name == "defs"), None)
    session.in_project = defs is not None
    if defs is not None and not has_session(defs):
        session.file = write_session_file(defs, session.conf)


def has_session(folder: Path) -> bool:
    """Returns True if the project of a folder has a Spark session: in a module, or in a component.

    Args:
        folder: The folder of the components. If it is called ``defs``, its parent folder is also searched for
            modules.
    """
    package = folder.parent if folder.name == "defs" else folder
    for file in package.rglob("*.py"):
        if _RESOURCE.search(_text_of(file)):
            return True
    return any(_SPARK.search(_text_of(file)) for file in folder.rglob("defs.yaml"))


def write_session_file(folder: Path, conf: Mapping[str, str] | None = None) -> Path:
    """Writes a module with the session into ``folder``, and returns its path. An existing file is never overwritten."""
    file = folder / SESSION_FILE
    if file.exists():
        file = folder / _OTHER_FILE
    folder.mkdir(parents=True, exist_ok=True)
    with file.open("x", encoding="utf-8") as out:
        # not str.format: the text has other braces, as in ${env:NAME}
        out.write(_TEXT.replace("{}", _dictionary({**_MASTER, **(conf or {})}), 1))
    return file


def _dictionary(conf: Mapping[str, str]) -> str:
    """Returns ``conf`` as the text of a Python dictionary. A single setting is written on one line."""
    entries = [f"{_quoted(setting)}: {_quoted(value)}" for setting, value in conf.items()]
    if len(entries) == 1:
        return f"{{{entries[0]}}}"
    lines = "".join(f"    {entry},\n" for entry in entries)
    return f"{{\n{lines}}}"


def _quoted(text: str) -> str:
    plain = text.isascii() and text.isprintable()  # JSON and Python write such texts in the same way
    return json.dumps(text) if plain else repr(text)


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
