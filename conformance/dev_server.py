"""A server process under test: Perennial, or the real Temporal that the tests are checked against."""

import asyncio
import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from ports import free_port
from temporalio.client import Client
from temporalio.service import RPCError, TLSConfig

NAMESPACE = "default"
START_SECONDS_MAX = 30

SEARCH_ATTRIBUTES = {
    "CustomKeywordField": "Keyword",
    "CustomKeywordListField": "KeywordList",
    "CustomTextField": "Text",
    "CustomIntField": "Int",
    "CustomDoubleField": "Double",
    "CustomBoolField": "Bool",
    "CustomDatetimeField": "Datetime",
}


# The real one, from requirements.txt.
TEMPORAL = os.path.join(os.path.dirname(sys.executable), "temporal")

TEMPORAL_SETTINGS = {
    # It spreads a task queue over partitions, and then keeps no order between them.
    "matching.numTaskqueueReadPartitions": 1,
    "matching.numTaskqueueWritePartitions": 1,
    # It refuses to pause workflows unless it is told otherwise.
    "frontend.WorkflowPauseEnabled": "true",
    # It takes completions in pages only if it is told to, and commits no more than 4 MB at a time.
    "history.enableWorkflowTaskCompletionPagination": "true",
    "system.transactionSizeLimit": 64 * 1024 * 1024,
    # It answers a few lists in a second.
    "frontend.namespaceRPS.visibility": 100_000,
    "frontend.namespaceBurstRatio.visibility": 1,
}


def is_temporal() -> bool:
    """Whether the tests themselves are checked, against the real server."""
    return os.environ.get("CONFORMANCE_SERVER") == "temporal"


def under_test() -> str:
    """The executable that the tests are about."""
    if is_temporal():
        return TEMPORAL
    binary = os.environ.get("PERENNIAL_BIN")
    assert binary, "PERENNIAL_BIN must name the binary to test (or CONFORMANCE_SERVER=temporal)"
    return os.path.abspath(binary)


def nodes_of_a_server() -> int:
    """How many nodes a server consists of: CONFORMANCE_NODES, with CONFORMANCE_POSTGRES."""
    return int(os.environ.get("CONFORMANCE_NODES", "1")) if os.environ.get("CONFORMANCE_POSTGRES") else 1


class DevServer:
    """Owns a server on one port (two with HTTP) and one database. It can be killed and started again.

    The server is one process, or the nodes of a cluster behind a load balancer.
    """

    def __init__(
        self,
        port: int,
        database: str,
        executable: str = "",
        http_port: int | None = None,
        settings: dict[str, Any] | None = None,
        flags: Sequence[str] = (),
        tls: TLSConfig | bool = False,
        api_key: str | None = None,
    ):
        """`settings` are Temporal's dynamic configuration, `tls` and `api_key` are those of the client."""
        self.port = port
        self.flags = flags
        self.tls = tls
        self.api_key = api_key
        self.settings = settings or {}
        self.http_port = http_port
        self.database = database
        self._executable = executable or under_test()
        self._processes: list[subprocess.Popen] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> Client:
        """Returns once the server answers."""
        count = 1 if self._executable == TEMPORAL else nodes_of_a_server()
        if count == 1:
            self._run(self.command())
        else:
            self._start_cluster(count)
        try:
            return await self._connect()
        except BaseException:
            self.kill()
            raise

    def _run(self, command: list[str]):
        self._processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def _start_cluster(self, count: int):
        nodes = [(free_port(), free_port() if self.http_port else None) for _ in range(count)]
        for port, http_port in nodes:
            self._run(self.command(port, http_port))
        balance = [sys.executable, os.path.join(os.path.dirname(__file__), "balancer.py")]
        self._run([*balance, str(self.port), *(str(port) for port, _ in nodes)])
        if self.http_port:
            self._run([*balance, str(self.http_port), *(str(port) for _, port in nodes)])

    def command(self, port: int | None = None, http_port: int | None = None) -> list[str]:
        """The command of the server, or of one of its nodes."""
        port, http_port = port or self.port, http_port or self.http_port
        command = [self._executable, "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
        command += ["--port", str(port), "--namespace", NAMESPACE]
        command += ["--db-filename", self._storage(), "--log-level", "error"]
        if http_port:
            command += ["--http-port", str(http_port)]
        settings = TEMPORAL_SETTINGS if self._executable == TEMPORAL else {}
        for setting, value in (settings | self.settings).items():
            command += ["--dynamic-config-value", f"{setting}={value}"]
        for name, kind in SEARCH_ATTRIBUTES.items():
            command += ["--search-attribute", f"{name}={kind}"]
        return [*command, *self.flags]

    def _storage(self) -> str:
        """The file; or a database of its own, if CONFORMANCE_POSTGRES has the URL of a PostgreSQL server."""
        server = os.environ.get("CONFORMANCE_POSTGRES")
        if not server or self._executable == TEMPORAL:
            return self.database
        name = "conformance_" + hashlib.sha256(self.database.encode()).hexdigest()[:16]
        ask = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", f"{server}/postgres", "--command"]
        found = f"SELECT 1 FROM pg_database WHERE datname = '{name}'"
        if not subprocess.run([*ask, found], check=True, capture_output=True, text=True).stdout.strip():
            subprocess.run([*ask, f"CREATE DATABASE {name}"], check=True)
        return f"{server}/{name}"

    def stop(self):
        self._end(signal.SIGTERM)

    def kill(self):
        """Gives the server no chance to save anything."""
        self._end(signal.SIGKILL)

    @contextlib.contextmanager
    def suspended(self):
        """The process does nothing meanwhile, as on a machine that is suspended."""
        for process in self._processes:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in self._processes:
                process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals):
        processes, self._processes = self._processes, []
        for process in processes:
            process.send_signal(how)
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    async def _connect(self) -> Client:
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            has_ended = any(process.poll() is not None for process in self._processes)
            assert not has_ended, "the server ended before it answered"
            try:
                # Connecting asks for GetSystemInfo. The server may answer it before the namespace exists.
                client = await Client.connect(
                    self.address, namespace=NAMESPACE, tls=self.tls, api_key=self.api_key
                )
                await client.count_workflows()
                return client
            except (RPCError, RuntimeError):
                assert time.monotonic() < deadline, "the server doesn't answer"
                await asyncio.sleep(0.05)
