"""mTLS with the official SDK, Temporal's command line and ours."""

import datetime as dt
import socket
import ssl
import urllib.request
from http.client import HTTPException

import pytest
from certificates import Authority, Identity, client_tls
from command_lines import SECONDS_MAX, output
from dev_server import NAMESPACE, TEMPORAL
from scene import Scene
from sdk_worker import worker
from secured_server import SERVER_NAME, Secured
from temporalio import activity, workflow
from temporalio.client import Client

pytestmark = pytest.mark.differs_from_temporal("its development server has no TLS")


@activity.defn
async def double(number: int) -> int:
    return 2 * number


@workflow.defn
class Doubled:
    @workflow.run
    async def run(self, number: int) -> int:
        return await workflow.execute_activity(double, number, start_to_close_timeout=dt.timedelta(seconds=10))


async def connect(secured: Secured, servers: Authority, identity: Identity | None) -> Client:
    tls = client_tls(servers, identity, SERVER_NAME)
    return await Client.connect(secured.server.address, namespace=NAMESPACE, tls=tls)


async def test_workflow_runs_over_mtls(secured, name):
    scene = Scene(secured.client, name)
    async with worker(scene, [Doubled], [double]):
        result = await secured.client.execute_workflow(Doubled.run, 21, id=name, task_queue=name)
    assert result == 42


async def test_clients_without_a_valid_certificate_are_refused(secured, tmp_path):
    stranger = Authority(tmp_path, "strangers").issue("worker")
    for identity in [None, stranger]:
        with pytest.raises(RuntimeError):
            await connect(secured, secured.servers, identity)
    with pytest.raises(RuntimeError):
        await Client.connect(secured.server.address, namespace=NAMESPACE)


async def test_client_refuses_a_server_of_another_authority(secured, tmp_path):
    with pytest.raises(RuntimeError):
        await connect(secured, Authority(tmp_path, "others"), secured.worker)


async def test_worker_goes_on_while_certificates_rotate(secured, name):
    before = served_certificate(secured)
    scene = Scene(secured.client, name)
    async with worker(scene, [Doubled], [double]):
        secured.servers.issue("server", dns_name=SERVER_NAME)
        runs, is_new = 0, False
        # New connections get the new certificate, and no call fails meanwhile, on old connections or new ones.
        while not is_new:
            client = await connect(secured, secured.servers, secured.worker)
            result = await client.execute_workflow(Doubled.run, runs, id=f"{name}-{runs}", task_queue=name)
            assert result == 2 * runs
            runs += 1
            is_new = served_certificate(secured) != before
    assert runs > 0


def served_certificate(secured: Secured) -> str:
    with connected(secured) as stream:
        return stream.getpeercert(binary_form=True).hex()


def connected(secured: Secured) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", secured.server.port))
    return client_context(secured).wrap_socket(plain, server_hostname=SERVER_NAME)


def client_context(secured: Secured) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=secured.servers.certificate)
    context.load_cert_chain(secured.worker.certificate, secured.worker.key)
    return context


def test_http_needs_the_same_certificate(secured):
    context = client_context(secured)
    # The name in the address is that of this machine, not that of the certificate.
    context.check_hostname = False
    address = f"https://127.0.0.1:{secured.server.http_port}/api/v1/system-info"
    with urllib.request.urlopen(address, context=context, timeout=SECONDS_MAX) as answer:
        assert answer.status == 200
    # The answer is a TLS alert.
    with pytest.raises((OSError, HTTPException)):
        urllib.request.urlopen(address.replace("https", "http"), timeout=SECONDS_MAX)


@pytest.mark.parametrize("tool", ["temporal", "perennial"])
async def test_command_lines_connect_with_flags_variables_and_profiles(secured, perennial, tmp_path, tool):
    executable = TEMPORAL if tool == "temporal" else perennial.binary
    address = secured.server.address
    command = ["operator", "namespace", "describe", NAMESPACE, "--output", "json"]
    authority = str(secured.servers.certificate)
    certificate, key = str(secured.worker.certificate), str(secured.worker.key)

    flags = ["--address", address, "--tls-server-name", SERVER_NAME, "--tls-ca-path", authority]
    identity = ["--tls-cert-path", certificate, "--tls-key-path", key]
    code, said = await output(executable, *command, *flags, *identity)
    assert code == 0 and NAMESPACE in said, said
    code, said = await output(executable, *command, *flags)
    assert code != 0, said

    variables = {
        "TEMPORAL_ADDRESS": address,
        "TEMPORAL_TLS_SERVER_NAME": SERVER_NAME,
        "TEMPORAL_TLS_SERVER_CA_CERT_PATH": authority,
        "TEMPORAL_TLS_CLIENT_CERT_PATH": certificate,
        "TEMPORAL_TLS_CLIENT_KEY_PATH": key,
    }
    code, said = await output(executable, *command, **variables)
    assert code == 0 and NAMESPACE in said, said

    profile = tmp_path / "temporal.toml"
    profile.write_text(
        f"""
        [profile.secured]
        address = "{address}"
        [profile.secured.tls]
        server_name = "{SERVER_NAME}"
        server_ca_cert_path = "{authority}"
        client_cert_path = "{certificate}"
        client_key_path = "{key}"
        """
    )
    code, said = await output(executable, *command, "--config-file", str(profile), "--profile", "secured")
    assert code == 0 and NAMESPACE in said, said
