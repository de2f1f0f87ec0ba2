"""The jar of the JVM lane: built once for its sources, the same bytes each time, and an error where it cannot be."""

import shutil
import zipfile

import pytest

from dagster_smt.jvm import build


@pytest.fixture(scope="module")
def jar(tmp_path_factory):
    return build.build(tmp_path_factory.mktemp("jar") / "lane.jar")


def test_it_holds_the_classes_and_their_version(jar):
    with zipfile.ZipFile(jar) as opened:
        names = set(opened.namelist())
        assert opened.read("dagstersmt/version").decode() == build.version()
    assert {"dagstersmt/Functions.class", "dagstersmt/Records.class"} <= names


def test_it_is_not_built_again_for_the_same_sources(jar, monkeypatch):
    before = jar.stat().st_mtime_ns
    monkeypatch.setattr(shutil, "which", lambda name: pytest.fail("no compiler is asked for"))
    build.build(jar)
    assert jar.stat().st_mtime_ns == before


def test_the_same_sources_give_the_same_bytes(jar, tmp_path):
    assert build.build(tmp_path / "again.jar").read_bytes() == jar.read_bytes()


def test_other_sources_make_it_another_one(jar, monkeypatch, tmp_path):
    shutil.copytree(build.SOURCES, tmp_path / "java")
    (tmp_path / "java" / "dagstersmt" / "Left.java").open("a").write("// another\n")
    monkeypatch.setattr(build, "SOURCES", tmp_path / "java")
    assert not build.is_current(jar)


def test_what_javac_refuses_is_told(monkeypatch, tmp_path):
    (tmp_path / "Wrong.java").write_text("class Wrong { int x = ; }")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    with pytest.raises(build.NoCompilerError, match="illegal start of expression"):
        build.build(tmp_path / "lane.jar")
    assert not (tmp_path / "lane.jar").exists()


def test_without_a_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(build.NoCompilerError, match="install a JDK"):
        build.build(tmp_path / "lane.jar")


def test_without_pyspark(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "find_spec", lambda name: None)
    with pytest.raises(build.NoCompilerError, match="PySpark is not installed"):
        build.build(tmp_path / "lane.jar")


@pytest.mark.parametrize("content", [None, b"", b"no zip"], ids=repr)
def test_a_jar_that_is_none_is_not_current(content, tmp_path):
    jar = tmp_path / "lane.jar"
    if content is not None:
        jar.write_bytes(content)
    assert not build.is_current(jar)
