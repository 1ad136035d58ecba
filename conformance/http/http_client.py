"""A minimal client of the HTTP API, without retries or defaults."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Answer:
    code: int
    body: Any
    headers: dict[str, str] = field(compare=False, default_factory=dict)

    def done(self) -> Any:
        assert self.code == 200, self
        return self.body


class Http:
    """Calls one server."""

    def __init__(self, port: int):
        self.base = f"http://127.0.0.1:{port}"

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, body: Any = None) -> Answer:
        return self.ask("POST", path, {} if body is None else body)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.base + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return Answer(answer.status, json.loads(answer.read()), dict(answer.headers))
        except urllib.error.HTTPError as refused:
            return Answer(refused.code, json.loads(refused.read()), dict(refused.headers))
