"""A stage that never returns does not outlive the Python process of its run, even if nobody could end it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dagster_smt.foreign.host import MAIN
from tests.foreign.jar import chain_of

RUN = """
import sys
from dagster_smt.chain import parse_chain
from tests.foreign.jar import chain_of, ran
ran(chain_of(sys.argv[1], "Hangs", stage_timeout_ms=0), [b'{"marked": true}'])
"""


def hosts_of(process: int) -> list[int]:
    """Returns the Java processes that a process has started."""
    children = []
    for folder in Path("/proc").iterdir():
        try:
            status, command = (folder / "status").read_text(), (folder / "cmdline").read_text()
        except OSError:  # it has ended, or is no process
            continue
        if f"PPid:\t{process}\n" in status and MAIN in command:
            children.append(int(folder.name))
    return children


def is_running(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def until(condition, seconds: float):
    """Waits until a condition holds, and returns its value."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_stage_that_hangs_ends_with_the_process_of_its_run(jar):
    assert chain_of(jar, "Hangs", stage_timeout_ms=0).has_foreign
    run = subprocess.Popen([sys.executable, "-c", RUN, str(jar)], cwd=Path(__file__).parents[2])
    try:
        hosts = until(lambda: hosts_of(run.pid), 60)
        assert len(hosts) == 1
        time.sleep(3)  # the stage has the record, and nothing ends it
        assert run.poll() is None and is_running(hosts[0])
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert until(lambda: not is_running(hosts[0]), 30), "the host has lost its parent, and ends"
