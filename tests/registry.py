"""A schema registry for tests: the part of Confluent's REST interface that serializers and readers use, in memory."""

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Registry:
    """A running registry.

    Attributes:
        schemas, subjects: What is registered; a version of a subject is a place in its list.
        deleted: (subject, version) of what is found only by who asks for deleted versions, too.
        rules: The rule sets of schemas by id.
        metadata: The metadata of schemas by id.
        keys, data_keys: The key encryption keys by name, and the data keys by name of the KEK, subject and algorithm.
        serialized: The other form of schemas by id, for who asks for it.
        asked: The ids that somebody asked for.
        looked_up: The subjects that somebody looked for a schema under.
        authorization: What came with it.
        status: Another one than 200 is its only answer.
    """

    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    deleted: set[tuple[str, int]] = field(default_factory=set)
    rules: dict[int, dict[str, Any]] = field(default_factory=dict)
    metadata: dict[int, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    data_keys: dict[tuple[str, str, str], list[dict[str, Any]]] = field(default_factory=dict)
    serialized: dict[int, str] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)
    authorization: set[str] = field(default_factory=set)
    status: int = 200

    def __enter__(self) -> "Registry":
        handler = type("Handler", (_Handler,), {"registry": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(self, *exception: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def add(self, subject: str, text: str, references: Iterable[Any] = (), kind: str = "AVRO") -> int:
        """Register a schema; one that is there keeps its id."""
        schema = {"schema": text, "schemaType": kind, "references": list(references)}
        number = next((n for n, known in self.schemas.items() if known == schema), len(self.schemas) + 1)
        self.schemas[number] = schema
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def more(self, number: int) -> dict[str, Any]:
        """The rules and the metadata of a schema."""
        parts = {"ruleSet": self.rules.get(number), "metadata": self.metadata.get(number)}
        return {name: part for name, part in parts.items() if part is not None}


class _Handler(BaseHTTPRequestHandler):
    registry: Registry

    def log_message(self, *args: object) -> None:
        """Silent."""

    def answer(self, status: int, data: Any) -> None:
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def parts(self) -> list[str]:
        self.registry.authorization.add(self.headers.get("Authorization", ""))
        return [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]

    def do_GET(self) -> None:
        parts, registry = self.parts(), self.registry
        if registry.status != 200:
            return self.answer(registry.status, {"error_code": registry.status, "message": "no"})
        if parts[:2] == ["schemas", "ids"]:
            registry.asked.append(int(parts[2]))
            results = registry.schemas.get(int(parts[2]))
            if results and int(parts[2]) in registry.serialized and "format=serialized" in self.path:
                results = {**results, "schema": registry.serialized[int(parts[2])]}
            if results:
                results = {**results, **registry.more(int(parts[2]))}
            return (
                self.answer(200, results)
                if results
                else self.answer(404, {"error_code": 40403, "message": "not found"})
            )
        if parts[0] == "subjects" and parts[2:] == ["versions"] and parts[1] in registry.subjects:
            return self.answer(200, list(range(1, len(registry.subjects[parts[1]]) + 1)))
        if parts[0] == "subjects" and parts[2:3] == ["versions"] and len(parts) == 4:
            versions = registry.subjects.get(parts[1], [])
            version = len(versions) if parts[3] == "latest" else int(parts[3])
            if not 1 <= version <= len(versions):
                return self.answer(404, {"error_code": 40402, "message": "not found"})
            number = versions[version - 1]
            results = {"subject": parts[1], "version": version, "id": number, **registry.schemas[number]}
            return self.answer(200, results | registry.more(number))
        if parts[0] == "dek-registry":
            return self.key(parts[3:])
        return self.answer(404, {"error_code": 404, "message": "not found"})

    def key(self, parts: list[str]) -> None:
        """A KEK by name, or a data key by its version; -1 is the latest one."""
        results = self.registry.keys.get(parts[0])
        if results is not None and len(parts) > 1:
            algorithm = parse_qs(urlsplit(self.path).query)["algorithm"][0]
            versions = self.registry.data_keys.get((parts[0], parts[2], algorithm), [])
            self.registry.asked.append(int(parts[4]))
            number = len(versions) if parts[4] == "-1" else int(parts[4])
            results = versions[number - 1] if 1 <= number <= len(versions) else None
        if results is None:
            return self.answer(404, {"error_code": 40470, "message": "not found"})
        return self.answer(200, results)

    def add_key(self, parts: list[str], body: dict[str, Any]) -> None:
        if not parts:
            self.registry.keys[body["name"]] = body
            return self.answer(200, body)
        versions = self.registry.data_keys.setdefault((parts[0], body["subject"], body["algorithm"]), [])
        versions.append({"kekName": parts[0], **body, "version": len(versions) + 1, "ts": 1})
        return self.answer(200, versions[-1])

    def do_POST(self) -> None:
        parts = self.parts()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.registry.status != 200:
            return self.answer(self.registry.status, {"error_code": self.registry.status, "message": "no"})
        if parts[0] == "dek-registry":
            return self.add_key(parts[3:], body)
        if parts[2:] != ["versions"]:
            return self.look_up(parts[1], body)
        number = self.registry.add(
            parts[1], body["schema"], body.get("references") or (), body.get("schemaType") or "AVRO"
        )
        version = self.registry.subjects[parts[1]].index(number) + 1
        if body.get("ruleSet"):
            self.registry.rules[number] = body["ruleSet"]
        if body.get("metadata"):
            self.registry.metadata[number] = body["metadata"]
        return self.answer(200, {"id": number, "subject": parts[1], "version": version, "schema": body["schema"]})

    def look_up(self, subject: str, body: dict[str, Any]) -> None:
        """What there is of a schema under a subject."""
        self.registry.looked_up.append(subject)
        gone = set() if "deleted=true" in self.path.lower() else self.registry.deleted
        for version, number in enumerate(self.registry.subjects.get(subject, ()), 1):
            result = self.registry.schemas[number]
            same = result["schema"] == body["schema"] and result["references"] == (body.get("references") or [])
            if same and (subject, version) not in gone:
                return self.answer(200, {"id": number, "subject": subject, "version": version, **body})
        return self.answer(404, {"error_code": 40403, "message": "not found"})
