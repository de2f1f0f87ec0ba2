"""The ledger in Java finds the same changes of Kafka's transforms, whether it looks at the fields that the options name
or at all fields."""

import shutil
import subprocess
from pathlib import Path

from dagster_smt.foreign.host import JAR
from dagster_smt.foreign.jars import connect_jars

SOURCE = Path(__file__).with_name("judge") / "LedgerJudge.java"


def test_fields_that_options_name_are_all_that_a_transform_touches(tmp_path):
    path = ":".join(map(str, (JAR, *connect_jars("4.3.1"))))
    javac, java = shutil.which("javac"), shutil.which("java")
    assert javac is not None and java is not None, "tests need a JDK"
    subprocess.run([javac, "-encoding", "UTF-8", "-d", tmp_path, "-cp", path, SOURCE], check=True)
    command = [java, "-Dfile.encoding=UTF-8", "-cp", f"{tmp_path}:{path}", "dagstersmt.foreign.LedgerJudge", "7"]
    done = subprocess.run([*command, "6000"], check=True, capture_output=True, text=True)
    changed, known = map(int, done.stdout.split())
    assert changed > 3000 and known > 3000
