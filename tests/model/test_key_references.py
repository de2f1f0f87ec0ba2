"""Keys travel as references: what a process looks up, compares and refuses, and what it never shows."""

import base64
import copy
import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dagster_smt.authoring.key_options import check_keys
from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, EngineError
from dagster_smt.model.key_references import KeyReference, SecretKey, check_value, forget_keys

SECRET = b"thirty-two bytes, and not a word"
TEXT = base64.b64encode(SECRET).decode()


@pytest.fixture(autouse=True)
def known_keys_are_forgotten():
    forget_keys()
    yield
    forget_keys()


def reference(text="${env:A_KEY}", encoding="base64", use="hmac"):
    return KeyReference("k1", text, encoding, use)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("base64", TEXT),
        ("base64", TEXT.rstrip("=") + "\n"),
        ("base64", base64.urlsafe_b64encode(bytes([255] * 32)).decode()),
        ("hex", SECRET.hex().upper()),
        ("hex", f" {SECRET.hex()[:32]} {SECRET.hex()[32:]}\n"),
        ("text", SECRET.decode() + "\r\n"),
    ],
)
def test_forms(encoding, text, monkeypatch):
    monkeypatch.setenv("A_KEY", text)
    assert len(reference(encoding=encoding).key().data) == 32


@pytest.mark.parametrize(
    ("encoding", "use", "text", "statement"),
    [
        ("base64", "hmac", "not base64!", "is not written in base64"),
        ("base64", "hmac", "x" * 41, "is not written in base64"),
        ("hex", "hmac", "0x12", "is not written in hex"),
        ("hex", "hmac", "abc", "is not written in hex"),
        ("hex", "hmac", "ab" * 15, "has 15 bytes, and needs at least 16"),
        ("hex", "aes", "ab" * 33, "has 33 bytes, and needs 16 or 24 or 32"),
        ("hex", "siv", "ab" * 16, "has 16 bytes, and needs 32 or 48 or 64"),
        ("base64", "hmac", "", "has 0 bytes, and needs at least 16"),
    ],
)
def test_texts_that_are_no_keys(encoding, use, text, statement, monkeypatch):
    monkeypatch.setenv("A_KEY", text)
    with pytest.raises(ConfigError, match=f"SMT740 the key k1: .*{statement}") as caught:
        reference(encoding=encoding, use=use).key()
    assert not text or text not in str(caught.value)


def test_a_key_shows_nothing_and_stays_in_its_process(monkeypatch):
    key = SecretKey(SECRET)
    assert (repr(key), str(key)) == ("<key>", "<key>")
    for send in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="does not leave its process"):
            send(key)
    monkeypatch.setenv("A_KEY", TEXT)
    used = reference()
    used.key().prepared("x", bytes)
    texts = [repr(used), pickle.dumps(used).decode("latin-1"), json.dumps(used.program())]
    for secret in (TEXT, SECRET.hex(), SECRET.decode()):
        assert not any(secret in text for text in texts)


def test_a_reference_that_was_sent_needs_the_same_key(monkeypatch):
    monkeypatch.setenv("A_KEY", TEXT)
    arrived = pickle.loads(pickle.dumps(reference()))
    assert arrived == reference() and arrived.check == check_value(SECRET)
    assert arrived.key().data == SECRET
    monkeypatch.setenv("A_KEY", base64.b64encode(b"o" * 32).decode())
    forget_keys()
    with pytest.raises(EngineError, match="SMT741 Spark's executors, the key k1: is another key there"):
        arrived.key()
    monkeypatch.delenv("A_KEY")
    with pytest.raises(EngineError, match=r"SMT741 .*cannot be read there: refers to A_KEY, which is not in"):
        pickle.loads(pickle.dumps(arrived)).key()


def test_a_reference_without_a_key_can_be_sent(monkeypatch):
    monkeypatch.delenv("A_KEY", raising=False)
    assert pickle.loads(pickle.dumps(reference())).check == ""


def chain(ring):
    return parse_chain(
        {
            "transforms": "p,q",
            "transforms.p.type": "Pseudonymize$Value",
            "transforms.p.fields": "a",
            "transforms.p.key.ring": ring,
            "transforms.q.type": "MaskField$Value",
            "transforms.q.fields": "b",
        }
    )


def test_a_run_names_each_missing_key(monkeypatch):
    monkeypatch.setenv("A_KEY", TEXT)
    check_keys(chain("${env:A_KEY}"))
    with pytest.raises(ConfigError) as caught:
        check_keys(chain("k2=${env:NO_SUCH_KEY},k1=${file:/no/such:key}"))
    first, second = caught.value.problems
    place = "transforms.p (Pseudonymize$Value) key.ring the key"
    assert str(first).startswith(f"SMT582 {place} k2: refers to NO_SUCH_KEY, which is not in the environment")
    assert str(second).startswith(f"SMT582 {place} k1: refers to the key key of the file /no/such, which this process")


def test_a_run_looks_up_keys_again(monkeypatch):
    monkeypatch.setenv("A_KEY", TEXT)
    assert reference().key().data == SECRET
    monkeypatch.setenv("A_KEY", base64.b64encode(b"o" * 32).decode())
    check_keys(chain("${env:A_KEY}"))
    assert reference().key().data == b"o" * 32


def test_files_and_folders(tmp_path, monkeypatch):
    (tmp_path / "keys.properties").write_text(f"pii = {TEXT}\n")
    (tmp_path / "pii").write_text(TEXT + "\n")
    for text in (f"${{file:{tmp_path}/keys.properties:pii}}", f"${{dir:{tmp_path}:pii}}"):
        assert reference(text).key().data == SECRET
    monkeypatch.setenv("DAGSTER_SMT_SECRET_PATHS", "/somewhere/else")
    forget_keys()
    with pytest.raises(ConfigError, match="SMT582"):
        reference(f"${{dir:{tmp_path}:pii}}").key()


@pytest.fixture
def vault(monkeypatch):
    """A server with one secret, as Vault's key-value engine of version 2 answers; the list of its requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, self.headers.get("X-Vault-Token"), self.headers.get("X-Vault-Namespace")))
            bodies = {
                "/v1/secret/data/team/pii": {"data": {"data": {"key": TEXT, "number": 7}, "metadata": {"version": 3}}},
                "/v1/secret/data/old": {"data": {"key": TEXT}},
            }
            body = bodies.get(self.path)
            if self.headers.get("X-Vault-Token") != "t":
                self.send_response(403)
            elif self.path == "/v1/secret/data/elsewhere":
                self.send_response(307)
                self.send_header("Location", "/v1/secret/data/team/pii")
            else:
                self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("VAULT_ADDR", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("VAULT_TOKEN", "t")
    yield requests
    server.shutdown()
    server.server_close()


def test_vault(vault, monkeypatch):
    monkeypatch.setenv("VAULT_NAMESPACE", "team-a")
    assert reference("${vault:secret/team/pii:key}").key().data == SECRET
    assert vault == [("/v1/secret/data/team/pii", "t", "team-a")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("${vault:secret/none:key}", "refuses with the status 404"),
        ("${vault:secret/team/pii:none}", "has no text under this key"),
        ("${vault:secret/team/pii:number}", "has no text under this key"),
        ("${vault:secret/old:key}", "whose answer is not that of a key-value engine"),
        ("${vault:secret/elsewhere:key}", "refuses with the status 307"),
    ],
)
def test_what_vault_does_not_give(vault, text, reason):
    with pytest.raises(ConfigError, match=f"SMT582 the key k1: refers to the key .* in Vault, .*{reason}"):
        reference(text).key()


def test_a_token_that_vault_refuses(vault, monkeypatch):
    monkeypatch.setenv("VAULT_TOKEN", "wrong-token")
    with pytest.raises(ConfigError, match="the status 403") as caught:
        reference("${vault:secret/team/pii:key}").key()
    assert "wrong-token" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "token", "reason"),
    [
        ("", "t", "needs VAULT_ADDR and VAULT_TOKEN"),
        ("http://127.0.0.1:1", "", "needs VAULT_ADDR and VAULT_TOKEN"),
        ("file:///etc", "t", "not an address with http"),
        ("http://127.0.0.1:1", "t", "does not answer"),
    ],
)
def test_no_vault(address, token, reason, monkeypatch):
    monkeypatch.setenv("VAULT_ADDR", address)
    monkeypatch.setenv("VAULT_TOKEN", token)
    with pytest.raises(ConfigError, match=reason):
        reference("${vault:secret/team/pii:key}").key()
