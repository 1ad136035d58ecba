"""Signed tokens (JWT) and the key sets (JWKS) that verify them, made with OpenSSL's command line."""

import base64
import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

ISSUER = "https://identity.example"
AUDIENCE = "perennial"


class SigningKey:
    """An RSA key of the issuer, with its id."""

    def __init__(self, folder: Path, key_id: str):
        self.key_id = key_id
        self._file = folder / f"{key_id}.key"
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(self._file))

    def token(self, subject: str, permissions: Sequence[str], **claims) -> str:
        """A token of five minutes, with the claim that Temporal's own claim mapper reads."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": subject,
            "iat": now,
            "exp": now + 300,
            "permissions": permissions,
            **claims,
        }
        header = {"alg": "RS256", "typ": "JWT", "kid": self.key_id}
        signed = ".".join(encoded(json.dumps(part).encode()) for part in [header, claims])
        signature = openssl("dgst", "-sha256", "-sign", str(self._file), stdin=signed.encode())
        return f"{signed}.{encoded(signature)}"

    def public(self) -> dict[str, str]:
        """The public key, as in a key set."""
        modulus = openssl("rsa", "-in", str(self._file), "-noout", "-modulus").decode()
        number = bytes.fromhex(modulus.strip().removeprefix("Modulus="))
        # The exponent of OpenSSL's keys is 65537.
        return {"kty": "RSA", "use": "sig", "kid": self.key_id, "n": encoded(number), "e": "AQAB"}


class KeySet:
    """A file with the issuer's public keys."""

    def __init__(self, file: Path):
        self.file = file

    def publish(self, *keys: SigningKey):
        """Replaces the file in one step: whoever reads it sees the old keys or the new ones."""
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps({"keys": [key.public() for key in keys]}))
        new.rename(self.file)


def openssl(*arguments: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(["openssl", *arguments], input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
