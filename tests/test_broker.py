"""The broker for tests and demos: started in the background, found again, stopped by its id."""

import json
import os

import pytest

from dagster_smt.errors import EngineError, UnsupportedError
from dagster_smt.testing.broker import KafkaBroker, ensure_running, fetch_jars, main, running


def test_a_broker_in_the_background(broker, tmp_path, capsys):
    """``broker`` has seen that the jars are there."""
    folder = tmp_path / "kafka"
    assert running(folder) is None and main(["--folder", str(folder), "--stop"]) == 0
    assert "no broker runs" in capsys.readouterr().out
    assert main(["--folder", str(folder)]) == 0
    servers, pid = running(folder)
    out = capsys.readouterr().out
    assert servers in out and str(pid) in out and (folder / "servers").read_text() == servers
    assert ensure_running(folder) == servers and running(folder) == (servers, pid)
    assert main(["--folder", str(folder), "--stop"]) == 0
    assert running(folder) is None and capsys.readouterr().out == f"stopped process {pid}\n"


def test_only_its_own_process_is_stopped(tmp_path):
    """A process that has got the id meanwhile is none of ours."""
    (tmp_path / "broker.json").write_text(json.dumps({"servers": "127.0.0.1:1", "pid": os.getpid()}))
    assert running(tmp_path) is None and main(["--folder", str(tmp_path), "--stop"]) == 0


def test_a_broker_that_does_not_start(broker, tmp_path):
    with pytest.raises(EngineError, match="SMT961"):
        KafkaBroker(tmp_path, {"log.retention.ms": "no number"}).start()


def test_jars_that_cannot_be_had(tmp_path):
    with pytest.raises(UnsupportedError, match="SMT960"):
        fetch_jars("no-such-artifact", folder=tmp_path)
