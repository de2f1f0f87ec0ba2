"""Answers of a registry that never end, or are larger than any schema."""

import gzip
import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dagster_smt.errors import DataError, EngineError
from dagster_smt.formats.registry import client as registry_client
from dagster_smt.formats.registry.client import schema_by_id

LONG = json.dumps({"schema": '"int"', "more": "x" * 2000}).encode()
SHORT = json.dumps({"schema": '"int"'}).encode()


class Answers(BaseHTTPRequestHandler):
    """Each address is another way to answer."""

    def log_message(self, *args):
        """Silent."""

    def do_GET(self):
        way = self.path.split("/")[1]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if way == "compressed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with suppress(OSError):  # whoever asked may have gone
            getattr(self, way)()

    def good(self):
        self.wfile.write(SHORT)

    def long(self):
        self.wfile.write(LONG)

    def endless(self):
        while True:
            self.wfile.write(b" " * 100)

    def silent(self):
        time.sleep(2)

    def slow(self):
        for _ in range(40):
            self.wfile.write(b" ")
            time.sleep(0.05)

    def compressed(self):
        self.wfile.write(gzip.compress(SHORT))


@pytest.fixture(scope="module")
def address():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("way", "error", "code"),
    [
        ("long", DataError, "SMT273"),
        ("endless", DataError, "SMT273"),
        ("silent", EngineError, "SMT636"),
        ("slow", EngineError, "SMT636"),
        ("compressed", EngineError, "SMT636"),
    ],
)
def test_answers_have_bounds(address, monkeypatch, way, error, code):
    monkeypatch.setattr(registry_client, "_MOST_BYTES", 1000)
    monkeypatch.setattr(registry_client, "_SECONDS", 0.3)
    start = time.monotonic()
    with pytest.raises(error) as caught:
        schema_by_id((("url", f"{address}/{way}"),), 1, "AVRO")
    result = caught.value.problem if error is DataError else caught.value.problems[0]
    assert result.code == code and time.monotonic() - start < 10


def test_other_answers_are_read(address):
    assert schema_by_id((("url", f"{address}/good"),), 1, "AVRO").text == '"int"'
