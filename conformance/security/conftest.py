"""Fixtures of the security tests: servers that know their callers, and credentials for them."""

import pytest_asyncio
from dev_server import DevServer
from ports import free_port

from certificates import Authority, client_tls
from command_lines import first_key
from secured_server import SERVER_NAME, Guarded, Secured
from tokens import AUDIENCE, ISSUER, KeySet, SigningKey


@pytest_asyncio.fixture(scope="session")
async def secured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    servers, clients = Authority(folder, "servers"), Authority(folder, "clients")
    served = servers.issue("server", dns_name=SERVER_NAME)
    worker = clients.issue("worker")
    server = DevServer(
        free_port(),
        str(folder / "secured.db"),
        http_port=free_port(),
        flags=[
            *("--tls-cert", str(served.certificate), "--tls-key", str(served.key)),
            *("--tls-client-ca", str(clients.certificate)),
        ],
        tls=client_tls(servers, worker, SERVER_NAME),
    )
    client = await server.start()
    yield Secured(server, client, servers, clients, worker)
    server.stop()


@pytest_asyncio.fixture(scope="session")
async def guarded(perennial, tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    servers, clients = Authority(folder, "servers"), Authority(folder, "clients")
    served = servers.issue("server", dns_name=SERVER_NAME)
    keys = KeySet(folder / "keys.json")
    signing_key, retiring_key = SigningKey(folder, "current"), SigningKey(folder, "retiring")
    keys.publish(signing_key, retiring_key)
    database = str(folder / "guarded.db")
    admin_key = first_key(perennial.binary, database)
    server = DevServer(
        free_port(),
        database,
        flags=[
            *("--tls-cert", str(served.certificate), "--tls-key", str(served.key)),
            *("--tls-client-ca", str(clients.certificate), "--tls-client-auth", "optional"),
            *("--auth", "required", "--certificate-role", "reports=default:read"),
            *("--token-issuer", ISSUER, "--token-audience", AUDIENCE, "--token-keys", str(keys.file)),
        ],
        tls=client_tls(servers, server_name=SERVER_NAME),
        api_key=admin_key,
    )
    admin = await server.start()
    yield Guarded(
        *(server, perennial.binary, admin, admin_key),
        *(servers, clients, keys, signing_key, retiring_key),
    )
    server.stop()
