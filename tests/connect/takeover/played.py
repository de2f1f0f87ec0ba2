"""A worker that plays its part: a REST API with one connector, whose offsets are those of a real broker."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from dagster_smt.tables.kafka.client import Committed, KafkaClient
from dagster_smt.tables.kafka.spec import KafkaTopics


class PlayedWorker:
    """Answers for a connector whose jar cannot be had. Tests write what the connector would have written.

    Attributes:
        state: ``RUNNING`` or ``STOPPED``.
        resumed: How often the connector was started again.
    """

    def __init__(self, servers: str, name: str, config: dict[str, str]):
        self.client, self.name, self.config = KafkaClient(KafkaTopics(servers)), name, config
        self.state, self.resumed = "RUNNING", 0
        worker = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size) or b"null")
                result = worker.answer(self.command, self.path.rpartition("/")[2], body)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(result).encode())

            do_GET = do_PUT = do_PATCH = answer

            def log_message(self, *arguments):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()

    def committed(self, group=""):
        offsets = self.client.committed(group or f"connect-{self.name}")
        return {place: c.offset for place, c in offsets.items()}

    def commit(self, offsets, group=""):
        self.client.commit(group or f"connect-{self.name}", {p: Committed(o, "") for p, o in offsets.items()})

    def answer(self, method, what, body):
        if what == "config":
            return self.config
        if what == "status":
            tasks = [{"state": "RUNNING"}] if self.state == "RUNNING" else []
            return {"connector": {"state": self.state}, "tasks": tasks}
        if what == "offsets" and method == "PATCH":
            places = [(o["partition"], o["offset"]["kafka_offset"]) for o in body["offsets"]]
            self.commit({(p["kafka_topic"], p["kafka_partition"]): offset for p, offset in places})
        if what == "offsets":
            places = [
                {"partition": {"kafka_topic": t, "kafka_partition": p}, "offset": {"kafka_offset": o}}
                for (t, p), o in self.committed().items()
            ]
            return {"offsets": places}
        if what in ("stop", "resume"):
            self.resumed += what == "resume"
            self.state = {"stop": "STOPPED", "resume": "RUNNING"}[what]
        return {}
