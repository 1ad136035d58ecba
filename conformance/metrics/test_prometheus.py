"""A real Prometheus scrapes the server, and its tool checks metrics and alert rules."""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import pytest_asyncio
from dev_server import DevServer
from ports import free_port
from prometheus import program
from waiting import until

OPS = Path(__file__).parents[2] / "ops" / "prometheus"

pytestmark = pytest.mark.differs_from_temporal("the metrics are Perennial's")


class MeteredServer(DevServer):
    """A server with a port for metrics."""

    def __init__(self, database: str):
        super().__init__(free_port(), database)
        self.metrics_port = free_port()

    def command(self) -> list[str]:
        return [*super().command(), "--metrics-port", str(self.metrics_port)]


@pytest_asyncio.fixture
async def metered(tmp_path):
    server = MeteredServer(str(tmp_path / "metered.db"))
    await server.start()
    yield server
    server.stop()


class Prometheus:
    """A Prometheus process with our alert rules, which scrapes one server."""

    def __init__(self, folder: Path, target: str):
        self._port = free_port()
        config = (OPS / "prometheus.yml").read_text()
        config = config.replace("127.0.0.1:9464", target).replace("15s", "200ms")
        config = config.replace("alerts.yml", str(OPS / "alerts.yml"))
        (folder / "prometheus.yml").write_text(config)
        command = [program("prometheus"), f"--config.file={folder / 'prometheus.yml'}"]
        command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{self._port}"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(self, path: str, **parameters: str) -> dict | None:
        """The data of an API call; `None` while the process starts."""
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url) as response:
                return json.load(response)["data"]
        except (urllib.error.URLError, ConnectionError):
            assert self._process.poll() is None, "Prometheus ended"
            return None

    async def value(self, query: str) -> float:
        """The value of a query with one result; -1 if it has none yet."""
        data = self.get("query", query=query)
        return float(data["result"][0]["value"][1]) if data and data["result"] else -1

    def stop(self):
        self._process.terminate()
        self._process.wait()


@pytest.fixture
def prometheus(tmp_path, metered):
    process = Prometheus(tmp_path, f"127.0.0.1:{metered.metrics_port}")
    yield process
    process.stop()


async def test_prometheus_scrapes_the_server_and_notices_its_end(prometheus, metered):
    await until(lambda: prometheus.value("perennial_ready"), lambda value: value == 1)
    for query in ["sum(perennial_requests_total)", "sum(perennial_commit_duration_seconds_bucket)"]:
        await until(lambda query=query: prometheus.value(query), lambda value: value > 0)
    problems = [target["lastError"] for target in prometheus.get("targets")["activeTargets"]]
    assert problems == [""]
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert "PerennialDown" in {rule["name"] for rule in rules}
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}

    metered.kill()
    await until(lambda: prometheus.value('up{job="perennial"}'), lambda value: value == 0)


def promtool(*arguments: str, text: str | None = None):
    done = subprocess.run([program("promtool"), *arguments], input=text, capture_output=True, text=True, cwd=OPS)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr


async def test_metrics_follow_the_conventions_of_prometheus(metered):
    url = f"http://127.0.0.1:{metered.metrics_port}/metrics"
    with urllib.request.urlopen(url) as response:
        promtool("check", "metrics", text=response.read().decode())


def test_alert_rules_are_valid_and_fire_as_their_tests_say():
    promtool("check", "rules", "alerts.yml")
    promtool("check", "config", "prometheus.yml")
    promtool("test", "rules", "alerts_test.yml")
