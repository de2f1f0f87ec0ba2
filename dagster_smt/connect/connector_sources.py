"""Reads connectors from files, from folders, and from the REST API of a Connect worker."""

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any

import yaml

from dagster_smt.chain.properties import read_properties
from dagster_smt.connect.connectors import Connector, read_connectors
from dagster_smt.connect.kubernetes import resource_connectors
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.secrets import without_login

_SECONDS = 30
_LONGEST_ANSWER = 256 * 2**20
"""The largest size of a response in bytes. A response about thousands of connectors has a few megabytes."""
_YAML = (".yaml", ".yml")
_SUFFIXES = (".json", ".properties", *_YAML)
_EXPANDED = "/connectors?expand=info&expand=status"
_PLUGINS = "/connector-plugins?connectorsOnly=false"


def connectors_at(source: str) -> list[Connector]:
    """Returns the connectors at ``source``, which is a file, a folder of files, or a REST address.

    Raises:
        ConfigError: SMT018, there is no connector; SMT002 or SMT003, a file cannot be read; SMT020, the worker does not
            respond.
    """
    if is_address(source):
        return read_connectors(_response(source), without_login(source))
    path = Path(source)
    if path.is_dir():
        paths = []
        for p in path.iterdir():
            if p.suffix in _SUFFIXES:
                paths.append(p)
        files = sorted(paths)
        if not files:
            statement = "the folder has no .json, .properties or .yaml file"
            raise ConfigError(Problem("SMT018", source, statement, "name another"))
        results = []
        for file in files:
            results.extend(connectors_at(str(file)))
        return results
    return list(_of_file(path))


def is_address(source: str) -> bool:
    """Returns True if ``source`` is the address of a REST API."""
    return source.startswith(("http://", "https://"))


def _of_file(path: Path) -> Iterator[Connector]:
    try:
        text = path.read_text(encoding="utf-8")
        data = _parsed(text, path.suffix)
    except UnicodeDecodeError:
        raise ConfigError(
            Problem("SMT002", path.name, "the file is not UTF-8 text", "save the file as UTF-8")
        ) from None
    # only the line: the message of PyYAML quotes the text of the file, which may contain a secret
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(Problem("SMT003", path.name, f"the file is not valid yaml: line {line}")) from None
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(Problem("SMT003", path.name, f"the file is not valid {_kind(path)}: {error}")) from None
    except RecursionError:
        statement = f"the file is not valid {_kind(path)}: it is nested too deeply"
        raise ConfigError(Problem("SMT003", path.name, statement)) from None
    if path.suffix == ".properties":
        yield Connector(data.get("name") or path.stem, data)
        return
    # a chain without a connector: read_connectors recognizes bare properties by their connector.class
    if isinstance(data, dict) and "transforms" in data and "connector.class" not in data:
        config = {}
        for k, v in data.items():
            config[str(k)] = str(v)
        yield Connector(str(data.get("name") or path.stem), config)
        return
    if path.suffix in _YAML:
        yield from resource_connectors(data, path.name)
        return
    yield from read_connectors(data, path.stem)


def _parsed(text: str, suffix: str) -> Any:
    if suffix == ".properties":
        return read_properties(text)
    if suffix in _YAML:
        return list(yaml.safe_load_all(text))
    return json.loads(text)


def _kind(path: Path) -> str:
    if path.suffix in _YAML:
        return "yaml"
    return "json"


@dataclass(frozen=True)
class Cluster:
    """A Connect cluster, as its REST API describes it.

    Attributes:
        place: The address, without a login.
        version: The version of Kafka Connect; empty if unknown.
        plugins: The versions of the installed plugins, by class.
    """

    place: str
    version: str = ""
    plugins: Mapping[str, str] = field(default_factory=dict)


def cluster_at(address: str) -> Cluster:
    """Describes the cluster to which the worker at ``address`` belongs. If the worker does not list its plugins,
    ``plugins`` is empty.
    """
    place, version, plugins = without_login(address), "", {}
    try:
        about = _response(address, "/")
        if isinstance(about, dict):
            version = str(about.get("version", ""))
        for plugin in _response(address, _PLUGINS):
            if isinstance(plugin, dict) and plugin.get("class"):
                plugins[str(plugin["class"])] = str(plugin.get("version") or "")
    except (ConfigError, TypeError):
        return Cluster(place, version, plugins)
    return Cluster(place, version, plugins)


def _response(address: str, path: str = _EXPANDED) -> Any:
    """Returns the response to a GET request for ``path`` to the Connect REST API at ``address``.

    Raises:
        ConfigError: SMT020, there is no response, or it does not come from a worker.
    """
    try:
        return answered(address, path)
    except ANSWER_ERRORS as error:
        hint = "give the address of a Connect worker's REST API, such as http://connect:8083"
        raise ConfigError(Problem("SMT020", without_login(address), reason_of(error), hint)) from None


def answered(address: str, path: str, method: str = "GET", body: Any = None) -> Any:
    """Sends a request to a Connect REST API, and returns the response. A login in the address is sent as basic
    authentication.

    Args:
        address: The address of the API.
        path: The path relative to the address.
        method: The HTTP method.
        body: The JSON data to send; None to send no data.

    Returns:
        The JSON data of the response; None if the response is empty.

    Raises:
        OSError, ValueError, RecursionError, HTTPException: There is no response, or the response does not come from a
            worker.
    """
    parts = urllib.parse.urlsplit(address)
    # urllib reads no login from an address: it would take ann:secret@connect as the name of a host
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    base = plain.path.rstrip("/").removesuffix("/connectors")
    data = None if body is None else json.dumps(body).encode()
    url = urllib.parse.urlunsplit(plain._replace(path=base, query="")) + path
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {}, method=method)
    if parts.username:
        login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    with urllib.request.build_opener(_SameOrigin).open(request, timeout=_SECONDS) as answer:
        return _read(answer)


ANSWER_ERRORS = (OSError, ValueError, RecursionError, HTTPException)
"""The errors that ``answered`` raises."""


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    """A handler that follows redirects only to the same origin. urllib itself would send the user name and password to
    any host that a response names.
    """

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """Handles a redirect, as ``urllib.request`` describes."""
        if _origin(newurl) != _origin(req.full_url):
            raise _ElsewhereError
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _ElsewhereError(OSError):
    """Raised if a response redirects to another origin."""


class _TooLongError(OSError):
    """Raised if a response has more bytes than a response of a Connect worker can have."""


def _origin(address: str) -> tuple[str, str, int | None]:
    parts = urllib.parse.urlsplit(address)
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", parts.port or standard


def _read(answer: IO[bytes]) -> Any:
    # one byte more than allowed, to see that there is more
    text = answer.read(_LONGEST_ANSWER + 1)
    if len(text) > _LONGEST_ANSWER:
        raise _TooLongError
    return json.loads(text) if text else None


def reason_of(error: Exception) -> str:
    """Returns a phrase that says why there is no usable response. ``error`` is the error of the request."""
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers {error.code}"
    if isinstance(error, _ElsewhereError):
        return "it redirects to another server, which gets neither name nor password"
    if isinstance(error, _TooLongError):
        return f"its answer has more than {_LONGEST_ANSWER // 2**20} MB"
    if isinstance(error, (ValueError, RecursionError)):
        return "its answer is not JSON of a Connect worker"
    return "it does not answer"
