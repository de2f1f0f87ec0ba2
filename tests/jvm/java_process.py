"""A Java process that runs one of the programs beside this module: requests in, answers out."""

import atexit
import struct
import subprocess
import threading
from functools import cache
from pathlib import Path

from dagster_smt.jvm.build import build, class_path


@cache
def _java(program):
    command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g", "-cp", f"{build()}:{class_path()}"]
    source = str(Path(__file__).parent / program)
    process = subprocess.Popen([*command, source], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.stdin.close)
    return process


def ask(program, parts, read, count):
    """Send the parts of a request to a program; return so many answers, each read from its output by a function."""
    java = _java(program)
    # beside reading: Java waits where nobody reads what it writes
    writing = threading.Thread(target=_send, args=(java.stdin, b"".join(parts)))
    writing.start()
    answers = [read(java.stdout) for _ in range(count)]
    writing.join()
    return answers


def packed(data):
    """Bytes behind their length; -1 for none."""
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def _send(stream, data):
    stream.write(data)
    stream.flush()
