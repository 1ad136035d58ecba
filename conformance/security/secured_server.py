"""Servers that know their callers: by certificates, or by API keys, tokens and certificates."""

import json
from dataclasses import dataclass

from dev_server import NAMESPACE, DevServer
from temporalio.client import Client

from certificates import Authority, Identity, client_tls
from command_lines import output
from tokens import KeySet, SigningKey

SERVER_NAME = "perennial.example"


@dataclass(frozen=True)
class Secured:
    """A server with mTLS, a client of it, and the authorities behind both."""

    server: DevServer
    client: Client
    servers: Authority
    clients: Authority
    worker: Identity


@dataclass(frozen=True)
class Guarded:
    """A server with TLS that requires credentials of any kind, and an admin of it."""

    server: DevServer
    binary: str
    admin: Client
    admin_key: str
    servers: Authority
    clients: Authority
    keys: KeySet
    signing_key: SigningKey
    retiring_key: SigningKey

    async def connect(self, credential: str | None, certificate: Identity | None = None, **options) -> Client:
        """A client with an API key or a token, a certificate, or both."""
        tls = client_tls(self.servers, certificate, SERVER_NAME)
        return await Client.connect(
            self.server.address, namespace=NAMESPACE, tls=tls, api_key=credential, **options
        )

    def flags(self, *arguments: str) -> list[str]:
        """Arguments of either command line, with the server's address and authority."""
        authority = str(self.servers.certificate)
        return [
            *arguments,
            *("--address", self.server.address, "--tls-ca-path", authority, "--tls-server-name", SERVER_NAME),
        ]

    async def operate(self, *arguments: str) -> dict:
        """What our command line answers the admin."""
        command = self.flags("operator", *arguments, "--api-key", self.admin_key, "--output", "json")
        code, said = await output(self.binary, *command)
        assert code == 0, said
        return json.loads(said) if said else {}

    async def create_key(self, name: str, permission: str) -> str:
        """Creates an API key with this permission."""
        created = await self.operate("api-key", "create", "--name", name, "--permission", permission)
        return created["secret"]

    async def revoke_key(self, name: str):
        """Revokes the API key with this name."""
        keys = (await self.operate("api-key", "list"))["apiKeys"]
        [key] = [key for key in keys if key["name"] == name]
        await self.operate("api-key", "revoke", key["id"], "--yes")
