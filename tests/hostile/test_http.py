"""Servers that are asked over HTTP: whom they send to whom, how much and what they answer."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dagster_smt.connect import connector_sources, connectors_at
from dagster_smt.errors import ConfigError, EngineError
from dagster_smt.formats.registry.client import schema_by_id

CONNECTORS = b'{"bills": {"info": {"config": {"connector.class": "x", "topics": "bills"}}}}'


@contextmanager
def server(answer):
    """A server whose answers a function gives: status, headers, body. Yields its port and the requests it got."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers.get("Authorization")))
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
    yield running.server_port, asked
    running.shutdown()
    running.server_close()


def good(path):
    return 200, {}, CONNECTORS


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_name_and_password_go_to_no_other_server(host, status):
    with server(good) as (other, asked_of_other):
        target = f"http://{host}:{other}/connectors"
        away = server(lambda path: (status, {"Location": target}, b""))
        with away as (port, asked), pytest.raises(ConfigError, match=r"SMT020 .*to another server") as error:
            connectors_at(f"http://ann:hidden-4711@127.0.0.1:{port}")
    assert "hidden-4711" not in str(error.value)
    assert [bool(login) for _, login in asked] == [True]
    assert asked_of_other == []


def test_another_path_of_the_same_server_gets_them():
    def answer(path):
        return good(path) if path.startswith("/rest/") else (302, {"Location": f"/rest{path}"}, b"")

    with server(answer) as (port, asked):
        assert [c.name for c in connectors_at(f"http://ann:hidden@127.0.0.1:{port}")] == ["bills"]
    assert len({login for _, login in asked}) == 1


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"[" * 200_000, "not JSON of a Connect worker"),
        (b"\xff\xfe\xfa", "not JSON of a Connect worker"),
        (b"<html>", "not JSON of a Connect worker"),
        (b" " * 3000 + CONNECTORS, "its answer has more than"),
    ],
)
def test_answers_that_are_none(body, what, monkeypatch):
    monkeypatch.setattr(connector_sources, "_LONGEST_ANSWER", 2000 if len(body) < 4000 else 2**20)
    with server(lambda path: (200, {}, body)) as (port, _), pytest.raises(ConfigError, match=f"SMT020 .*{what}"):
        connectors_at(f"http://127.0.0.1:{port}")


def test_a_file_that_is_nested_too_deeply(tmp_path):
    (tmp_path / "a.json").write_text("[" * 200_000)
    with pytest.raises(ConfigError, match=r"SMT003 a\.json: .*nested too deeply"):
        connectors_at(str(tmp_path / "a.json"))


def test_the_client_of_registries_follows_no_redirects(monkeypatch):
    monkeypatch.setenv("SMT_REGISTRY_LOGIN", "ann:hidden-4711")
    with server(lambda path: (200, {}, b'{"schema": "\\"string\\""}')) as (other, asked_of_other):
        target = f"http://127.0.0.1:{other}"
        with server(lambda path: (302, {"Location": target + path}, b"")) as (port, asked):
            options = (("url", f"http://127.0.0.1:{port}"), ("basic-auth.user-info", "${env:SMT_REGISTRY_LOGIN}"))
            with pytest.raises(EngineError, match="SMT636"):
                schema_by_id(options, 1, "AVRO")
    assert asked[0][1], "the registry itself gets them"
    assert asked_of_other == []
