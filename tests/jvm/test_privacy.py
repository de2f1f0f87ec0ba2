"""The rules of privacy in the Java lane: the same bytes as the Python evaluator, on fuzzed texts."""

import base64
import json
import subprocess
from pathlib import Path
from random import Random

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.jvm.build import build, class_path
from dagster_smt.values.privacy.tokens import ALPHABETS
from tests.jvm.harness import agree, batch_of, program, run
from tests.values.test_ff1 import KEY, SAMPLES
from tests.values.test_sealed import RFC_5297

RING = {"key.ring": "k2=${env:EXAMPLE_KEY},k1=${env:EXAMPLE_KEY}"}
KEYED = RING | {"field.syntax.version": "extended", "fields": "a,b.c,d[*],**.e"}
PIECES = (
    "ada@example.org", "a.b+c@mail.example.co.uk", "4111 1111 1111 1111", "5555555555554444", "4111111111111112",
    "DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "NO9386011117947", "+47 22 12 34 56", "(415) 555-2671",
    "030 1234567", "2026-11-26", "12.50", "1556204536128", "@", "..", "+", "0", "00", " ", "-", "\u00e5", "\U0001f600",
    "\u00a0", "\u2028", "x", "DE", "\"", "\\", "\n", "192.0.2.77", "10.0.0.1", "SW1A 1AA", "\x85", "\u3000", "(", ")",
)  # fmt: skip
CLASSES = {
    "Pseudonymize": KEYED,
    "Pseudonymize digits": KEYED | {"alphabet": "digits", "length": "20", "domain": "field", "show.key.id": "true"},
    "Pseudonymize base32": KEYED | {"alphabet": "base32", "length": "51", "domain": "x"},
    "Pseudonymize base64url": KEYED | {"alphabet": "base64url"},
    "MaskPart": {"fields": "a"},
    "MaskPart first": {"fields": "a", "show": "first", "count": "3", "keep.punctuation": "false"},
    "MaskPart domain": {"fields": "a", "show": "domain", "count": "1"},
    "MaskPart length": {"fields": "a", "mask.length": "3", "mask.character": "\U0001f600"},
    "Redact": {"fields": "a,b.c", "field.syntax.version": "V2"},
    "Redact phone": {"fields": "a", "patterns": "phone,card", "replacement": "<<kind>$>"},
    "Coarsen ip": {"fields": "a", "kind": "ip", "ipv4.bits": "9"},
    "Coarsen postcode": {"fields": "a", "kind": "postcode"},
    "Encrypt": RING | {"fields": "a", "mode": "siv", "context": "c\u00e5"},
    "Tokenize": KEYED | {"keep": "all", "on.unfit": "mask", "domain": "field"},
    "Tokenize mask": RING
    | {"fields": "a,b.c", "field.syntax.version": "V2", "on.unfit": "mask", "domain": "\u00e5" * 20},
    "Tokenize letters": RING | {"fields": "a", "alphabet": "alphanumeric", "on.unfit": "mask"},
    "Tokenize luhn": RING | {"fields": "a", "checksum": "luhn", "on.unfit": "mask"},
    "Tokenize iban": RING | {"fields": "a", "checksum": "iban", "on.unfit": "mask"},
    "Detokenize": RING | {"fields": "a", "keep": "all", "on.unfit": "mask"},
    "Detokenize iban": RING | {"fields": "a", "checksum": "iban", "on.unfit": "mask"},
}


def chain(name, options, side="Value"):
    stage = {"transforms": "p", "transforms.p.type": f"{name.split()[0]}${side}"}
    return parse_chain(stage | {f"transforms.p.{key}": value for key, value in options.items()})


def text(chance):
    return "".join(chance.choice(PIECES) for _ in range(chance.randrange(6)))


def values(chance, count):
    for _ in range(count):
        value = {"a": text(chance), "b": {"c": text(chance)}, "d": [text(chance)], "f": [{"e": text(chance)}]}
        yield json.dumps(value, ensure_ascii=chance.random() < 0.3).encode()
    for odd in ({}, {"a": None}, {"a": 7, "b": {"c": -0}}, {"a": 1.5}, {"a": True}, {"a": []}, {"b": 1, "a": {}}):
        yield json.dumps(odd).encode()
    yield from (b'{"a":"\\ud83d"}', b'{"a":123456789012345678901234567890}', b"null", b"7", b"[]", None)


@pytest.mark.parametrize("name", CLASSES)
def test_fuzzed_texts(name):
    batch = batch_of(list(values(Random(name), 300)), ("orders",))
    left = agree(chain(name, CLASSES[name]), batch)
    if name.split()[0] != "Coarsen":
        assert len(left) < 16  # those that Connect would refuse


@pytest.mark.parametrize("length", range(0, 70, 3))
@pytest.mark.parametrize("size", [32, 48, 64])
def test_siv_of_all_lengths(length, size, monkeypatch):
    """cryptography has passed the vectors of RFC 5297 (tests/values/test_sealed.py); Java gives the same."""
    agree(chain("Encrypt", CLASSES["Encrypt"]), batch_of([json.dumps({"a": "x" * length}).encode()], ("orders",)))


@pytest.mark.long
def test_the_vector_of_rfc_5297():
    """The cipher in Java gets the vector A.1 without a chain, whose associated data begin with a prefix of ours."""
    command = ["java", "-cp", f"{build()}:{class_path()}", str(Path(__file__).with_name("SivVector.java"))]
    key, associated, plain, sealed = RFC_5297
    done = subprocess.run([*command, key, associated, plain], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [sealed, plain]


@pytest.mark.parametrize("sample", SAMPLES, ids=range(1, 10))
def test_the_samples_of_nist(sample, tmp_path):
    """The samples' tweaks are texts of ASCII, so a chain can name them as its domain."""
    size, radix, tweak, plain, encrypted = sample
    (tmp_path / "key").write_text(base64.b64encode(KEY[:size]).decode())
    options = {
        "fields": "a",
        "key.ring": f"k1=${{dir:{tmp_path}:key}}",
        "domain": bytes.fromhex(tweak).decode("ascii"),
        "alphabet": {10: "digits", 36: "uppercase_alphanumeric"}[radix],
    }
    for name, before, after in (("Tokenize", plain, encrypted), ("Detokenize", encrypted, plain)):
        value = json.dumps({"a": before.upper()}).encode()
        (row,) = run(program(chain(name, options)), rows(value))
        assert (row["__status"], json.loads(row["value"])["a"]) == (0, after.upper())


@pytest.mark.parametrize("alphabet", ["digits", "hex", "any_case", "alphanumeric"])
@pytest.mark.parametrize("name", ["Tokenize", "Detokenize"])
def test_tokens_of_all_lengths(name, alphabet):
    """Java has passed the samples of NIST above, and gives the same as Python for every length."""
    chance = Random(alphabet)
    lengths = [*range(9), *range(9, 80, 3), 255, 256, 600, 999, 1000, 1001]
    texts = ["".join(chance.choice(ALPHABETS[alphabet]) for _ in range(length)) for length in lengths]
    batch = batch_of([json.dumps({"a": text}).encode() for text in texts], ("orders",))
    left = agree(chain(name, RING | {"fields": "a", "alphabet": alphabet, "domain": "d" * 37}), batch)
    assert 4 < len(left) <= 7, "short and long texts"


def test_cards_and_accounts():
    cards = ["4111 1111 1111 1111", "5555555555554444", "4111111111111112", "1234566", "", "7"]
    accounts = ["NO9386011117947", "GB82 WEST 1234 5698 7654 32", "gb82west12345698765432", "NO93", "GB", "XX"]
    texts = cards + accounts
    batch = batch_of([json.dumps({"a": text}).encode() for text in texts], ("orders",))
    for checksum in ("luhn", "iban"):
        for name in ("Tokenize", "Detokenize"):
            assert len(agree(chain(name, RING | {"fields": "a", "checksum": checksum}), batch)) < 11


def rows(value):
    return [{"key": None, "value": value, "topic": "orders", "partition": 0, "offset": 0, "micros": None}]


@pytest.mark.parametrize("mode", ["gcm", "siv"])
def test_java_opens_what_python_wrote_and_python_what_java_wrote(mode):
    from dagster_smt.interpret.examples import run_once
    from dagster_smt.transforms.privacy.decrypt import Decrypt
    from dagster_smt.transforms.privacy.encrypt import Encrypt

    options = RING | {"fields": "a"}
    sealing, opening = (chain(name, options | more) for name, more in (("Encrypt", {"mode": mode}), ("Decrypt", {})))
    for plain in ("", "x", "\u00e5\U0001f600\n", "long " * 100):
        value = json.dumps({"a": plain}, ensure_ascii=False)
        by_java = run(program(sealing), rows(value.encode()))[0]["value"].decode()
        assert json.loads(by_java)["a"].startswith(f"smt1:{mode}:k2:")
        assert json.loads(run_once(Decrypt, options, by_java, typed=False)) == {"a": plain}
        by_python = run_once(Encrypt, options | {"mode": mode}, value, typed=False)
        assert json.loads(run(program(opening), rows(by_python.encode()))[0]["value"]) == {"a": plain}
        assert agree(opening, batch_of([by_python.encode()], ("orders",))) == []


def test_texts_that_do_not_open_are_left():
    opening = chain("Decrypt", RING | {"fields": "a"})
    texts = ["plain", "smt1:gcm:k1:", "smt1:siv:k1:AAAA", "smt1:gcm:k9:AAAA", "smt1:gcm:k1:" + "A" * 60]
    batch = batch_of([json.dumps({"a": text}).encode() for text in texts], ("orders",))
    assert len(agree(opening, batch)) == len(texts)


def test_plain_texts_pass():
    opening = chain("Decrypt", RING | {"fields": "a", "on.plain.text": "pass"})
    assert agree(opening, batch_of([b'{"a":"plain"}'], ("orders",))) == []


def test_another_key_in_java_leaves_all_records():
    """Its check value is another one than that of the run."""
    text = program(chain("Pseudonymize", RING | {"fields": "a"}))
    other = text.replace(json.loads(text)["stages"][0]["effects"][0]["changes"][0]["rule"]["key"]["check"], "0" * 16)
    assert other != text
    assert [row["__status"] for row in run(other, rows(b'{"a":"x"}'))] == [3]
    assert [row["__status"] for row in run(text, rows(b'{"a":"x"}'))] == [0]


def test_what_the_lane_leaves_to_python():
    groups = {"fields": "a", "show": "groups", "pattern": "(.).*"}
    for name, options in (("MaskPart", groups), ("Coarsen", {"fields": "a", "kind": "number"})):
        assert program(chain(name, options)) is None
