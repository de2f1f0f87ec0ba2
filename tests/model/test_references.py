"""References to secrets: the environment, properties files and folders, as Connect's providers resolve them."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError
from dagster_smt.model.secrets import is_reference, refers, resolved, shows_secret

SECRET = "hunter2"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "db.properties").write_text(f"# ours\npass\\u0077ord = {SECRET}\nuser=ann\n")
    (tmp_path / "token").write_text(SECRET)
    monkeypatch.setenv("SMT_TOKEN", SECRET)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:SMT_TOKEN}", SECRET),
        ("${file:{}/db.properties:password}", SECRET),
        ("${dir:{}:token}", SECRET),
        ("${file:{}/db.properties:user}:${dir:{}:token}", f"ann:{SECRET}"),
        ("${aws:secret/db:password}", "${aws:secret/db:password}"),
        ("plain", "plain"),
    ],
)
def test_values(folder, text, value):
    assert resolved({"k": text.replace("{}", str(folder))}, "p") == {"k": value}


@pytest.mark.parametrize(
    "text",
    [
        "${env:SMT_NOTHING}",
        "${file:{}/none.properties:password}",
        "${file:{}/db.properties:none}",
        "${file:{}:password}",
        "${dir:{}:none}",
        "${dir:{}:..}",
        "${dir:{}:../x}",
        "${file:{}/big:k}",
        "${file:{}/latin:k}",
    ],
)
def test_what_cannot_be_looked_up_is_named_without_a_value(folder, text):
    (folder / "big").write_bytes(b"k=" + b"x" * (1 << 20))
    (folder / "latin").write_bytes(b"k=\xff")
    with pytest.raises(ConfigError, match="SMT582 p k: refers to") as caught:
        resolved({"k": text.replace("{}", str(folder))}, "p")
    assert SECRET not in str(caught.value)


def test_folders_may_be_limited(folder, monkeypatch):
    inside, outside = folder / "in", folder / "out"
    for place in (inside, outside):
        place.mkdir()
        (place / "token").write_text(SECRET)
    (inside / "link").symlink_to(outside / "token")
    monkeypatch.setenv("DAGSTER_SMT_SECRET_PATHS", f" {inside} ,{folder / 'more'}")
    assert resolved({"k": f"${{dir:{inside}:token}}"}, "p") == {"k": SECRET}
    for text in (f"${{dir:{outside}:token}}", f"${{dir:{inside}:link}}", f"${{file:{inside}/../out/token:k}}"):
        with pytest.raises(ConfigError, match="SMT582"):
            resolved({"k": text}, "p")


@pytest.mark.parametrize("text", ["${env:A}", "${file:/a:b}", "${dir:/a:b}"])
def test_references_show_no_secret(text):
    assert is_reference(text) and refers(f"x{text}") and not shows_secret("password", text)


@pytest.mark.parametrize("text", ["${aws:a:b}", "${vault:a}", "${file:/a}", "${file::b}", "${env:}", "${dir:/a:b"])
def test_other_texts_are_no_references(text):
    assert not is_reference(text) and shows_secret("password", text)


@pytest.mark.parametrize("text", ["${file:/a:b}", "${env:A}", "x${vault:a:b}", "${secrets:ns/name:key}", "${dir:/a:b}"])
def test_no_chain_takes_a_reference_for_a_value(text):
    chain = {"transforms": "m", "transforms.m.type": "MaskField$Value", "transforms.m.fields": "a"}
    parse_chain({**chain, "transforms.m.replacement": "${topic}-${1}"})
    with pytest.raises(ConfigError, match=r"SMT051 transforms\.m: 'replacement' refers to"):
        parse_chain({**chain, "transforms.m.replacement": text})
