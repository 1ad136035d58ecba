"""A server process under test: Perennial, or the real Temporal that the tests are checked against."""

import asyncio
import os
import signal
import subprocess
import sys
import time

from temporalio.client import Client
from temporalio.service import RPCError

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


def is_temporal() -> bool:
    return os.environ.get("CONFORMANCE_SERVER") == "temporal"


def executable() -> str:
    if is_temporal():
        return os.path.join(os.path.dirname(sys.executable), "temporal")
    binary = os.environ.get("PERENNIAL_BIN")
    assert binary, "PERENNIAL_BIN must name the binary to test (or CONFORMANCE_SERVER=temporal)"
    return os.path.abspath(binary)


class DevServer:
    """Owns one process on one port and one database file. It can be killed and started again."""

    def __init__(self, port: int, database: str):
        self.port = port
        self.database = database
        self._process: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> Client:
        """Returns once the server answers."""
        command = [executable(), "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
        command += ["--port", str(self.port), "--namespace", NAMESPACE]
        command += ["--db-filename", self.database, "--log-level", "error"]
        if is_temporal():
            # Temporal spreads a task queue over partitions, and then keeps no order between them.
            for setting in ("numTaskqueueReadPartitions", "numTaskqueueWritePartitions"):
                command += ["--dynamic-config-value", f"matching.{setting}=1"]
            command += ["--dynamic-config-value", "frontend.WorkflowPauseEnabled=true"]
        for name, kind in SEARCH_ATTRIBUTES.items():
            command += ["--search-attribute", f"{name}={kind}"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return await self._connect()
        except BaseException:
            self.kill()
            raise

    def stop(self):
        self._end(signal.SIGTERM)

    def kill(self):
        """Gives the server no chance to save anything."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals):
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    async def _connect(self) -> Client:
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            assert self._process.poll() is None, "the server ended before it answered"
            try:
                # Connecting asks for GetSystemInfo. The server may answer it before the namespace exists.
                client = await Client.connect(self.address, namespace=NAMESPACE)
                await client.count_workflows()
                return client
            except (RPCError, RuntimeError):
                assert time.monotonic() < deadline, "the server doesn't answer"
                await asyncio.sleep(0.05)
