"""Where connectors are described: files, folders of them, and the REST API of a Connect worker."""

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dagster_smt.chain.properties import read_properties
from dagster_smt.connect.connectors import Connector, read_connectors
from dagster_smt.errors import ConfigError, Problem

_SECONDS = 30
_EXPANDED = "/connectors?expand=info&expand=status"


def connectors_at(source: str) -> list[Connector]:
    """The connectors of a file, of the files of a folder, or of a REST address.

    Raises:
        ConfigError: SMT018, there is none; SMT002 or SMT003, a file cannot be read; SMT020, nobody answers there.
    """
    if source.startswith(("http://", "https://")):
        return read_connectors(_asked(source), _shown(source))
    path = Path(source)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in (".json", ".properties"))
        if not files:
            raise ConfigError(Problem("SMT018", source, "there is no .json or .properties file in it", "name another"))
        return [connector for file in files for connector in connectors_at(str(file))]
    return list(_of_file(path))


def _of_file(path: Path) -> Iterator[Connector]:
    try:
        text = path.read_text(encoding="utf-8")
        data: Any = read_properties(text) if path.suffix == ".properties" else json.loads(text)
    except UnicodeDecodeError as error:
        raise ConfigError(Problem("SMT002", path.name, "the file is no UTF-8 text", "save it as UTF-8")) from error
    except ValueError as error:
        raise ConfigError(Problem("SMT003", path.name, f"the file is no valid json: {error}")) from error
    if path.suffix == ".properties":
        yield Connector(data.get("name") or path.stem, data)
        return
    if isinstance(data, dict) and "transforms" in data and "connector.class" not in data:
        yield Connector(str(data.get("name") or path.stem), {str(k): str(v) for k, v in data.items()})
        return
    yield from read_connectors(data, path.stem)


def _asked(address: str) -> Any:
    """What a Connect REST API answers; name and password in the address are sent as basic authentication."""
    parts = urllib.parse.urlsplit(address)
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    path = plain.path.rstrip("/").removesuffix("/connectors")
    request = urllib.request.Request(urllib.parse.urlunsplit(plain._replace(path=path, query="")) + _EXPANDED)
    if parts.username:
        login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.load(answer)
    except (OSError, ValueError) as error:
        what = f"it answers {error.code}" if isinstance(error, urllib.error.HTTPError) else "it does not answer"
        hint = "give the address of a Connect worker's REST API, such as http://connect:8083"
        raise ConfigError(Problem("SMT020", _shown(address), what, hint)) from None


def _shown(address: str) -> str:
    """An address without name and password."""
    parts = urllib.parse.urlsplit(address)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
