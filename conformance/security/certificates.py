"""Certificates for a test, made with OpenSSL's command line."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from temporalio.service import TLSConfig


@dataclass(frozen=True)
class Identity:
    """A certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority with its files in a folder."""

    def __init__(self, folder: Path, name: str):
        self.folder = folder
        self.identity = Identity(folder / f"{name}.pem", folder / f"{name}.key")
        self._request(self.identity, name, ["-x509", "-out", self.identity.certificate])

    @property
    def certificate(self) -> Path:
        return self.identity.certificate

    def issue(self, name: str, dns_name: str | None = None, file: str | None = None) -> Identity:
        """Issues a certificate. Files of that name are replaced, as by a tool that renews certificates."""
        file = file or name
        identity = Identity(self.folder / f"{file}.pem", self.folder / f"{file}.key")
        extension = ["-addext", f"subjectAltName=DNS:{dns_name}"] if dns_name else []
        issuer = ["-CA", self.certificate, "-CAkey", self.identity.key, "-x509"]
        new = Identity(identity.certificate.with_suffix(".pem.new"), identity.key.with_suffix(".key.new"))
        leaf = ["-addext", "basicConstraints=critical,CA:FALSE"]
        self._request(new, name, [*issuer, *extension, *leaf, "-out", new.certificate])
        new.key.rename(identity.key)
        new.certificate.rename(identity.certificate)
        return identity

    @staticmethod
    def _request(identity: Identity, name: str, arguments: list):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", identity.key]
        command = ["openssl", "req", *key, "-subj", f"/O=Perennial/CN={name}", "-days", "30", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        identity.key.chmod(0o600)


def client_tls(server_ca: Authority, identity: Identity | None = None, server_name: str | None = None) -> TLSConfig:
    """The TLS settings of a client of the SDK."""
    return TLSConfig(
        server_root_ca_cert=server_ca.certificate.read_bytes(),
        domain=server_name,
        client_cert=identity.certificate.read_bytes() if identity else None,
        client_private_key=identity.key.read_bytes() if identity else None,
    )
