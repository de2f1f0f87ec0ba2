"""Calls the part of a Connect worker's REST API that a takeover needs: configuration, state, offsets, stop and
resume.
"""

import time
import urllib.error
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from dagster_smt.connect.connector_sources import ANSWER_ERRORS, answered, reason_of
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.takeover.takeover_parts import ConnectorState
from dagster_smt.errors import EngineError, Problem, UnsupportedError
from dagster_smt.model.secrets import without_login
from dagster_smt.model.windows.offsets import TopicPartition

_PAUSE = 0.2
_REBALANCING = 409
_NO_CONNECTOR = 404
_SECONDS_TO_LEARN = 5
"""The number of seconds to wait for a connector to appear. A worker that has just started does not know its connectors
yet.
"""
_NO_METHOD = (404, 405)
"""The HTTP status codes with which workers before Kafka 3.5 respond to ``PUT /connectors/NAME/stop``. Such workers
cannot stop connectors.
"""


class ConnectRest:
    """A client of a worker's REST API, for one connector.

    Args:
        url: The address.
        name: The name of the connector.
        seconds: The longest time to wait for a worker that does not respond or is rebalancing.
    """

    def __init__(self, url: str, name: str, seconds: float = 60):
        self.url, self.name, self.seconds = url, name, seconds
        self._path = f"/connectors/{urllib.parse.quote(name, safe='')}"

    def connector(self) -> Connector:
        """Requests the connector with its configuration.

        Raises:
            EngineError: SMT780, the worker does not respond.
            UnsupportedError: SMT780, the worker has no such connector.
        """
        config = self._ask("GET", "/config")
        texts = {}
        for k, v in dict(config).items():
            texts[str(k)] = "" if v is None else str(v)
        return Connector(self.name, texts)

    def state(self) -> ConnectorState:
        """Requests the state of the connector and its tasks."""
        about = self._ask("GET", "/status")
        tasks = []
        for t in about["tasks"]:
            tasks.append(str(t["state"]))
        return ConnectorState(str(about["connector"]["state"]), tuple(tasks))

    def stop(self) -> None:
        """Asks the worker to stop the connector (KIP-875, Kafka 3.5 and later).

        Raises:
            UnsupportedError: SMT780, the worker cannot stop connectors.
        """
        self._ask("PUT", "/stop")

    def resume(self) -> None:
        """Asks the worker to start the connector again."""
        self._ask("PUT", "/resume")

    def offsets(self) -> dict[TopicPartition, int]:
        """Returns the committed offsets of the connector, which must be a sink."""
        results = {}
        for item in self._ask("GET", "/offsets")["offsets"]:
            partition, offset = item["partition"], item["offset"]
            if offset is not None:
                place = (str(partition["kafka_topic"]), int(partition["kafka_partition"]))
                results[place] = int(offset["kafka_offset"])
        return results

    def set_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Sets the committed ``offsets`` of the connector, which must be a stopped sink (Kafka 3.6 and later)."""
        items = []
        for (topic, partition), offset in sorted(offsets.items()):
            place = {"kafka_topic": topic, "kafka_partition": partition}
            items.append({"partition": place, "offset": {"kafka_offset": offset}})
        self._ask("PATCH", "/offsets", {"offsets": items})

    def until(self, holds: Callable[[ConnectorState], bool], seconds: float) -> ConnectorState:
        """Waits until the function ``holds`` returns True for the connector's state, but at most ``seconds`` seconds.
        Returns the last state.
        """
        end = time.monotonic() + seconds
        state = self.state()
        while not holds(state) and time.monotonic() < end:
            time.sleep(_PAUSE)
            state = self.state()
        return state

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Sends a request for ``path``, and returns the response. The request is repeated while the worker rebalances
        or does not respond.
        """
        end = time.monotonic() + self.seconds
        unknown_until = time.monotonic() + _SECONDS_TO_LEARN
        while True:
            try:
                return answered(self.url, self._path + path, method, body)
            except urllib.error.HTTPError as error:
                # for /stop, 404 is the answer of a worker before Kafka 3.5, which has no such path
                waits = error.code == _NO_CONNECTOR and path != "/stop" and time.monotonic() < unknown_until
                if not waits and error.code != _REBALANCING and error.code < 500:
                    raise self._refused(method, path, error.code) from None
                last: Exception = error
            except ANSWER_ERRORS as error:
                last = error
            if time.monotonic() > end:
                statement = f"the worker does not do {method} {self._path}{path}: {reason_of(last)}"
                hint = "run the command again when the worker responds: it continues"
                raise EngineError(Problem("SMT780", without_login(self.url), statement, hint))
            time.sleep(_PAUSE)

    def _refused(self, method: str, path: str, code: int) -> UnsupportedError:
        place = without_login(self.url)
        if path == "/stop" and code in _NO_METHOD:
            hint = "upgrade the workers to Kafka 3.5 or later"
            return UnsupportedError(Problem("SMT780", place, "the worker cannot stop a connector", hint))
        if code == _NO_CONNECTOR:
            hint = "list the connectors with GET /connectors"
            return UnsupportedError(Problem("SMT780", place, f"the worker has no connector {self.name}", hint))
        hint = "look into the worker's log; setting offsets needs Kafka 3.6"
        statement = f"the worker refuses {method} {path}: it answers {code}"
        return UnsupportedError(Problem("SMT780", place, statement, hint))
