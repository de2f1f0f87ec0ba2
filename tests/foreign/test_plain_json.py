"""The plain reader and writer of JSON in Java do as Connect's converter does, or leave the text to Jackson."""

import shutil
import subprocess
from pathlib import Path

from dagster_smt.foreign.host import JAR
from dagster_smt.foreign.jars import connect_jars

SOURCE = Path(__file__).with_name("judge") / "PlainJsonJudge.java"


def test_plain_json_is_connects(tmp_path):
    path = ":".join(map(str, (JAR, *connect_jars("4.3.1"))))
    javac, java = shutil.which("javac"), shutil.which("java")
    assert javac is not None and java is not None, "tests need a JDK"
    subprocess.run([javac, "-encoding", "UTF-8", "-d", tmp_path, "-cp", path, SOURCE], check=True)
    command = [java, "-Dfile.encoding=UTF-8", "-cp", f"{tmp_path}:{path}", "dagstersmt.foreign.PlainJsonJudge", "7"]
    done = subprocess.run([*command, "20000"], check=True, capture_output=True, text=True)
    read, refused, written = map(int, done.stdout.split())
    assert read > 3000 and refused > 3000 and written > 3000
