"""When the compiled lane is loaded, and where its code is kept."""

import threading
import time

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.interpret.compiled import kept, loading
from dagster_smt.interpret.compiled.loading import ENOUGH, VARIABLE, Waiting

CHAIN = parse_chain({"transforms": "m", "transforms.m.type": "MaskField$Value", "transforms.m.fields": "a"})


@pytest.fixture
def fresh(monkeypatch):
    """A process that has seen no record yet."""
    monkeypatch.delenv(VARIABLE, raising=False)
    found = loading._Loading()
    monkeypatch.setattr(loading, "_loading", found)
    return found


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kept.folder.cache_clear()
    yield tmp_path
    kept.folder.cache_clear()


def test_few_records_do_not_load_it(fresh):
    waiting = Waiting(CHAIN, "string")
    assert waiting.lane(ENOUGH - 1) is None
    assert fresh.thread is None
    assert waiting.lane(1) is None
    fresh.thread.join()
    assert waiting.lane(1) is not None


def test_it_is_there_at_once_where_that_is_asked_for(fresh, monkeypatch):
    monkeypatch.setenv(VARIABLE, "now")
    assert Waiting(CHAIN, "string").lane(1) is not None


def test_it_is_never_loaded_where_that_is_asked_for(fresh, monkeypatch):
    monkeypatch.setenv(VARIABLE, "off")
    assert Waiting(CHAIN, "string").lane(10 * ENOUGH) is None
    assert fresh.thread is None


def never(fresh, caplog):
    caplog.set_level("INFO")
    waiting = Waiting(CHAIN, "string")
    assert waiting.lane(ENOUGH) is None
    fresh.thread.join()
    assert waiting.lane(ENOUGH) is None
    return caplog.text


def test_without_numba(fresh, monkeypatch, caplog):
    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    assert "there is no compiled code: numba is not installed" in never(fresh, caplog)


def test_without_a_folder(fresh, elsewhere, monkeypatch, caplog):
    (elsewhere / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(elsewhere / "file"))
    assert "set NUMBA_CACHE_DIR to one that can be written" in never(fresh, caplog)


def test_code_is_compiled_once_for_all_who_wait(elsewhere, monkeypatch):
    commands, done = [], kept.subprocess.CompletedProcess([], 0)

    def run(command, **options):
        commands.append(command)
        time.sleep(0.5)
        kept.finish()
        return done

    monkeypatch.setattr(kept.subprocess, "run", run)
    threads = [threading.Thread(target=kept.prepare) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [command[1:] for command in commands] == [["-m", "dagster_smt.interpret.compiled.build"]]
    assert [file.name for file in kept.folder().iterdir()] == ["complete"]


@pytest.mark.long
def test_it_is_compiled_by_a_process_of_its_own(elsewhere):
    kept.prepare()
    names = [file.name for file in kept.folder().rglob("*")]
    assert "complete" in names and "busy" not in names
    assert any(name.startswith("members.scan") and name.endswith(".nbc") for name in names)


def test_a_process_that_could_not_compile_leaves_it_to_others(elsewhere, monkeypatch):
    monkeypatch.setattr(kept.sys, "executable", "/bin/false")
    kept.prepare()
    assert list(kept.folder().iterdir()) == []


def test_what_a_killed_process_left_is_waited_for_no_longer_than_a_minute(elsewhere, monkeypatch):
    monkeypatch.setattr(kept, "_PATIENCE", 0.3)
    called = []
    monkeypatch.setattr(
        kept.subprocess, "run", lambda *a, **k: called.append(a) or kept.subprocess.CompletedProcess(a, 1)
    )
    (kept.folder() / "busy").touch()
    kept.prepare()
    assert len(called) == 1
    assert list(kept.folder().iterdir()) == []


def test_whatever_is_wrong_with_it_the_interpreter_goes_on(fresh, monkeypatch, caplog):
    def broken():
        raise OSError("libLLVM")

    monkeypatch.setattr(loading, "prepare", broken)
    told = never(fresh, caplog)
    assert "take three times as long, for there is no compiled code: OSError" in told and "libLLVM" not in told


def test_another_version_of_the_code_is_kept_elsewhere(elsewhere, monkeypatch, tmp_path):
    before = kept.folder()
    (tmp_path / "lane.py").write_text("another")
    monkeypatch.setattr(kept, "__file__", str(tmp_path / "kept.py"))
    kept.folder.cache_clear()
    assert kept.folder() != before
