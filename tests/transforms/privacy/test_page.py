"""The examples of docs/how-to/pseudonyms.md do what the page says."""

import base64
import json
import re
from pathlib import Path

import pytest

from dagster_smt.authoring.key_options import check_keys
from dagster_smt.chain import parse_chain
from dagster_smt.chain.properties import read_properties
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.key_references import forget_keys
from dagster_smt.model.record import Record
from dagster_smt.transforms.privacy import ALL
from dagster_smt.transforms.privacy.tokenize import Tokenize

PAGE = (Path(__file__).parents[3] / "docs/how-to/pseudonyms.md").read_text(encoding="utf-8")
PEOPLE, SEAL, OPEN, TOKENIZE, DETOKENIZE = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def keys_of_the_page(monkeypatch):
    monkeypatch.setenv("PII_KEY", base64.b64encode(b"1" * 32).decode())
    monkeypatch.setenv("PII_KEY_2", base64.b64encode(b"2" * 32).decode())
    forget_keys()
    yield
    forget_keys()


def run(text, value, **options):
    chain = parse_chain(read_properties(text) | options)
    check_keys(chain)
    interpreter, record = Interpreter(chain), Record("orders", 0, 42, 0, "CreateTime")
    interpreter.read(record, None, json.dumps(value).encode())
    outcome = interpreter.run(record)
    assert outcome.problem is None, outcome.problem
    return json.loads(interpreter.write(record)[2])


def test_the_join():
    order = run(PEOPLE, {"customer": {"mail": "ada@example.org"}, "total": 7})
    visit = run(PEOPLE, {"customer": {"mail": "ada@example.org"}, "page": "/"})
    assert order["customer"] == visit["customer"] and re.fullmatch("[0-9a-f]{32}", order["customer"]["mail"])
    assert order["customer"] != run(PEOPLE, {"customer": {"mail": "Ada@example.org"}})["customer"]


def test_rotation_and_opening():
    old = run(SEAL, {"card": "4111"}, **{"transforms.seal.key.ring": "k1=${env:PII_KEY}"})
    new = run(SEAL, {"card": "4111"})
    assert old["card"].startswith("smt1:gcm:k1:") and new["card"].startswith("smt1:gcm:k2:")
    assert run(OPEN, old) == run(OPEN, new) == {"card": "4111"}
    pinned = run(SEAL, {"card": "4111"}, **{"transforms.seal.key.id": "k1"})
    assert pinned["card"].startswith("smt1:gcm:k1:")


def test_another_program_opens_a_text_as_the_page_says():
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    text = run(SEAL, {"card": "4111"}, **{"transforms.seal.context": "orders.card"})["card"]
    head, _, encoded = text.rpartition(":")
    data = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    assert AESGCM(b"2" * 32).decrypt(data[:12], data[12:], f"{head}:orders.card".encode()) == b"4111"


def test_tokens_and_back():
    card = run(TOKENIZE, {"card": "4111-1111-1111-1111"})
    assert re.fullmatch("[0-9]{4}(-[0-9]{4}){3}", card["card"]) and card["card"] != "4111-1111-1111-1111"
    assert run(DETOKENIZE, card) == {"card": "4111-1111-1111-1111"}


def test_the_table_of_tokens():
    rows = re.findall(r"^\| (?:`checksum=(.*)`)? ?\| `(.*)` \| `(.*)` \|$", PAGE, re.MULTILINE)
    table = [(example.options.get("checksum", ""), example.before, example.after) for example in Tokenize.examples]
    assert len(rows) == 3
    for (checksum, before, after), example in zip(rows, table, strict=True):
        assert checksum == example[0] and before in example[1] and after in example[2]


def test_the_page_names_every_class():
    assert all(f"../reference/privacy/{cls.__name__}.md" in PAGE for cls in ALL)
