"""What Spark keeps of a run: no secret of its settings, or of the options of a write or read."""

import os
import subprocess
import sys

import pytest

SECRET = "secret-4711"


@pytest.mark.spark
def test_the_event_log_holds_no_secrets(tmp_path):
    pem = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----"
    variables = {"SMT_SECRET": SECRET, "SMT_SECRET_PEM": pem, "SMT_SHOWN": "marker-0815"}
    command = [sys.executable, "-m", "tests.hostile.event_log", str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    log = "\n".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".crc")
    assert "marker-0815" in log, "options of the write are in the log"
    assert "spark.hadoop.fs.s3a.secret.key" in log, "so are settings"
    assert SECRET not in log
