"""The host: a Java process that runs foreign stages for this Python process.

Foreign stages need a separate process, because a stage may print, exit, never return or leave threads behind (decision
35). Requests and answers are frames of MessagePack. When this process ends, the host also ends, even if a stage is
still running.
"""

import atexit
import os
import shlex
import struct
import subprocess
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from dagster_smt.errors import EngineError, Problem, UnsupportedError
from dagster_smt.foreign.maven import java

OPTIONS, OUTPUT = "DAGSTER_SMT_HOST_OPTIONS", "DAGSTER_SMT_HOST_OUTPUT"
"""Two environment variables for the host, the Java process of foreign stages. The first contains Java options for this
process. If the second is ``show``, the output of the stages is printed to standard error.
"""
JAR = Path(__file__).parents[1] / "jvm" / "dagster_smt.jar"
MAIN = "dagstersmt.foreign.Host"
# The heap bounds what a stage can take from the machine; without memory, the host ends, and only the record fails. Time
# zone and language are fixed, so that a class gives the same results on every machine.
_JAVA = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Dfile.encoding=UTF-8", "-Duser.timezone=UTC",
         "-Duser.language=en", "-Duser.country=US")  # fmt: skip
_decoder = msgspec.msgpack.Decoder()
_encoder = msgspec.msgpack.Encoder()
_LENGTH = struct.Struct(">I")


class HostDiedError(Exception):
    """Raised if the host, the Java process of foreign stages, ends during a request.

    Attributes:
        why: ``exit`` if a stage has ended the process, ``timeout`` if a stage took too long, else ``unknown``.
        record: The position of the record in the batch. None if the position is unknown.
        stage: The position of the stage in the chain. None if the stage is unknown.
    """

    def __init__(self, why: str = "unknown", record: int | None = None, stage: int | None = None):
        super().__init__(why)
        self.why, self.record, self.stage = why, record, stage


class Host:
    """A running host: the Java process and the connection to it.

    Args:
        jars: Kafka Connect's own jars.
    """

    def __init__(self, jars: Sequence[Path]):
        # each segment of this process opens its stages in the host under a number of its own
        self.numbers = count(1)
        # several threads may share a host, and an answer belongs to the request before it
        self.lock = Lock()
        # The answers have a pipe of their own, because a stage may print to standard output.
        reads, writes = os.pipe()
        shown = os.environ.get(OUTPUT) == "show"
        path = ":".join(map(str, (JAR, *jars)))
        options = shlex.split(os.environ.get(OPTIONS, ""))
        # The user's options come last, because Java takes the last of two equal options. The host ends itself when its
        # parent is no longer this process.
        command = [java(), *_JAVA, *options, "-cp", path, MAIN, f"/dev/fd/{writes}", str(os.getpid())]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                # 2 is the standard error of this process
                stdout=2 if shown else subprocess.DEVNULL,
                stderr=None if shown else subprocess.DEVNULL,
                pass_fds=(writes,),
            )
        except OSError:
            os.close(reads)
            raise _no_host("Java cannot be started") from None
        finally:
            # if this process kept the writing end, ``read`` would wait even after the host has ended
            os.close(writes)
        self.answers = os.fdopen(reads, "rb", buffering=1 << 16)
        atexit.register(self.end)

    def call(self, *request: Any) -> list[Any]:
        """Sends ``request`` to the host (the Java process), and waits for the answer. The answer of the host is a list
        that begins with a name. The result is this list without the name.

        Raises:
            HostDiedError: The host has ended.
        """
        return self.send(_encoder.encode(request))

    def send(self, request: bytes, decoder: Any = _decoder) -> list[Any]:
        """Sends ``request`` to the host (the Java process), and returns the answer as the method ``call`` does. Here
        ``request`` is already encoded.

        Raises:
            HostDiedError: The host has ended.
        """
        with self.lock:
            assert self.process.stdin is not None
            try:
                self.process.stdin.write(_LENGTH.pack(len(request)))
                self.process.stdin.write(request)
                self.process.stdin.flush()
            except OSError:  # the host may have reported the reason before it ended
                pass
            head = self.answers.read(_LENGTH.size)
            # the host has closed its end without an answer, for example after a lack of memory
            if len(head) < _LENGTH.size:
                self.end()
                raise HostDiedError
            data = self.answers.read(_LENGTH.unpack(head)[0])
        name, *rest = decoder.decode(data)
        if name == "died":
            self.end()
            why, record, stage = rest
            raise HostDiedError(why, record if record >= 0 else None, stage if stage >= 0 else None)
        return rest

    @property
    def alive(self) -> bool:
        """True if the Java process is running."""
        return self.process.poll() is None

    def end(self) -> None:
        """Ends the Java process immediately."""
        # otherwise each host that has ended would stay in memory
        atexit.unregister(self.end)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.answers):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except OSError:  # the last request has not reached the host
                    continue


_hosts: dict[tuple[int, tuple[Path, ...]], Host] = {}


def host_of(jars: Sequence[Path]) -> Host:
    """Returns the host, the Java process of foreign stages, that loads Kafka Connect's classes from ``jars``. Starts
    the host if necessary. Later calls of this process with the same jars return the same host, as long as the host
    runs.

    Raises:
        UnsupportedError: SMT642 if the host cannot start.
    """
    # on a cluster, the archive of the jars contains this jar
    if not JAR.is_file() and all(jar.name != JAR.name for jar in jars):
        raise _no_host("this installation has no jar of the host")
    key = (os.getpid(), tuple(jars))  # a forked process must not use its parent's host
    host = _hosts.get(key)
    if host is None or not host.alive:
        host = _hosts[key] = Host(key[1])
    return host


def _no_host(statement: str) -> UnsupportedError:
    hint = "install Java 17 or 21, set JAVA_HOME, and build the jar: python -m dagster_smt.jvm.build"
    return UnsupportedError(Problem("SMT642", "foreign stages", statement, hint))


def not_started(died: HostDiedError) -> EngineError:
    """Returns the error for a host (the Java process of foreign stages) that ended before it ran a record. ``died``
    describes the end of the host.
    """
    hint = f"Connect 4 needs Java 17; set {OUTPUT}=show to see what the process prints"
    return EngineError(Problem("SMT643", "foreign stages", f"their process ended while it started ({died.why})", hint))
