"""An S3 server in a process of its own: moto's, with the conditional writes of the real one.

``python s3_server.py PORT [HOLD]``. Moto checks ``If-None-Match`` and writes in two steps, so this server handles one
write at a time. HOLD is a regular expression of keys: a write of such a key waits until another one of the same key is
there, or for five seconds. So two drivers that commit at once really do.
"""

import re
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple

_SECONDS = 5


class Held:
    """Lets writes of one key go on in twos, and says which of them replaced another one."""

    def __init__(self, keys: str):
        self.keys, self.barriers, self.lock = re.compile(keys), {}, threading.Lock()
        self.written: set[str] = set()

    def wait(self, path: str) -> None:
        if not self.keys.search(path):
            return
        with self.lock:
            barrier = self.barriers.setdefault(path, threading.Barrier(2))
        try:
            barrier.wait(_SECONDS)
        except threading.BrokenBarrierError:
            return

    def note(self, path: str, status: str) -> None:
        if status.startswith("200") and self.keys.search(path):
            if path in self.written:
                print("OVERWRITTEN", path, flush=True)
            self.written.add(path)


class Silent(WSGIRequestHandler):
    def log_request(self, *_):
        pass


def main(port: str, hold: str = "") -> None:
    backend, writes = DomainDispatcherApplication(create_backend_app), threading.Lock()
    held = Held(hold or "$^")

    def application(environ, start_response):
        if environ["REQUEST_METHOD"] != "PUT":
            return backend(environ, start_response)
        held.wait(environ["PATH_INFO"])

        def answer(status, *more):
            held.note(environ["PATH_INFO"], status)
            return start_response(status, *more)

        with writes:
            return list(backend(environ, answer))

    run_simple("127.0.0.1", int(port), application, threaded=True, request_handler=Silent)


if __name__ == "__main__":
    main(*sys.argv[1:])
