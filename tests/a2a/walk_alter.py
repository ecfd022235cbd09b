"""The daemon of alter-runtime against our frames: over TLS, with its own paths, and with the key of this server pinned."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, Iterator

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from served import Server

# Far more than it takes, so that a slow machine does not matter.
PATIENCE_S = 120
# What the daemon does beside listening, and would ask of its own service.
OFF = [
    "ALTER_RUNTIME_PRESENCE_FEED_WRITER",
    "ALTER_SESSION_PRESENCE_ENABLED",
    "ALTER_RUNTIME_LOOM_VERDICT_EXPORTER",
    "ALTER_RUNTIME_CLAUDE_JSONL_WATCHER",
    "ALTER_RUNTIME_SESSION_REFRESH",
    "ALTER_RUNTIME_DOCTRINE_PROJECTION",
    "ALTER_RUNTIME_AUTOUPDATE",
    "ALTER_RUNTIME_ATTUNEMENT_REFRESH",
    "ALTER_RUNTIME_DO_PUBLISH_ENABLED",
]


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate of this machine that certifies itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, secret = directory / "cert.pem", directory / "key.pem"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    secret.chmod(0o600)
    return pem, secret


def frame(text: str) -> dict[str, Any]:
    """An advisory of ~ida to its own sessions."""
    return {
        "envelope_version": "1.0",
        "frame_id": str(uuid.uuid4()),
        "kind": "agent_advisory",
        "sender_handle": "~ida",
        "recipient_handle": "~ida",
        "created_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "payload": {"advisory_text": text},
        "acted_by": "~ida",
        "drafted_with": "~cc-model",
        "provenance_compute_location": "local-only",
        "provenance_method": ["session-context"],
        "provenance_context_check": "passed",
        "provenance_basis": "coordination",
    }


def kept(cache: Path) -> Iterator[str]:
    """The ids of the frames that the daemon has written."""
    for path in cache.rglob("agent-frames.jsonl"):
        # Whole lines alone: the text of a frame may contain other separators.
        for line in path.read_text().split("\n")[:-1]:
            yield str(json.loads(line)["frame_id"])


class Daemon:
    """The daemon, until the block ends, with this key pinned."""

    def __init__(self, home: Path, url: str, token: str, pinned: str, cert: Path) -> None:
        self.cache = home / "cache"
        session = home / "session.json"
        home.mkdir()
        session.write_text(
            json.dumps(
                {
                    "handle": "~ida",
                    "api": url,
                    "jwt": token,
                    "jwt_expires_at": "2099-01-01T00:00:00Z",
                    "consent_tier": 1,
                    "user_id": "u",
                    "email": "ida@example.org",
                }
            )
        )
        session.chmod(0o600)
        base = {k: v for k, v in os.environ.items() if not k.startswith(("PLENARY_", "ALTER_", "XDG_"))}
        self._environment = base | dict.fromkeys(OFF, "0") | {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(self.cache),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_RUNTIME_DIR": str(home),
            "SSL_CERT_FILE": str(cert),
            "ALTER_SESSION_FILE": str(session),
            "ALTER_SECURE_STORE_BACKEND": "file",
            "ALTER_DESKTOP_NOTIFIER_DISABLED": "1",
            "ALTER_RUNTIME_FRAME_SIG_PUBKEY": pinned,
            "ALTER_DO_SSE_ENDPOINT": url + "/events/{handle}/stream",
            "ALTER_DO_STATE_ENDPOINT": url + "/events/{handle}/state",
            "ALTER_DO_INGEST_ENDPOINT": url + "/events/{handle}/ingest",
            "ALTER_MCP_FALLBACK_ENDPOINT": url + "/api/v1/mcp",
            "ALTER_ORG_ALTER_PRESENCE_ENDPOINT": url + "/presence",
            "ALTER_ORG_ALTER_CAPS_ENDPOINT": url + "/caps",
        }
        self.log = home / "daemon.log"

    def __enter__(self) -> "Daemon":
        command = [str(Path(sys.executable).with_name("alter-runtime")), "daemon"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log.open("ab"), stderr=subprocess.STDOUT, env=self._environment
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        if kind is not None:
            print(self.log.read_text())

    def says(self, words: str) -> bool:
        assert self._process.poll() is None, "the daemon ended"
        return words in self.log.read_text()


def until(what: str, done: Any) -> None:
    """Waits until `done` is true."""
    ends = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < ends, f"in vain: {what}"
        time.sleep(0.1)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="plenary-alter-") as name:
        directory = Path(name)
        cert, key = certificate(directory)
        os.environ["SSL_CERT_FILE"] = str(cert)
        config = f'tls_cert = "{cert}"\ntls_key = "{key}"\n'
        with Server(config) as server:
            url = server.url.replace("127.0.0.1", "localhost")
            token = server.agent("@ida.laptop")
            made = server.ask("POST", "/api/v1/messaging/subscribe-capability", token=token)
            pinned = made["frame_signature_pubkey"]

            def listens() -> bool:
                roster = server.ask("GET", "/handles/~ida/roster", token=token)
                return bool(roster["roster"])

            with Daemon(directory / "one", url, token, pinned, cert) as daemon:
                until("the daemon listens", listens)
                sent = [frame("Grüße an dich: \u2028 \"x\" \\ \U0001f600"), frame("again")]
                for one in sent:
                    server.ask("POST", "/frames", one, token=token)
                wanted = {one["frame_id"] for one in sent}
                until("the daemon keeps what was signed", lambda: wanted <= set(kept(daemon.cache)))

            def left() -> bool:
                return not listens()

            until("the first daemon is gone", left)
            # 32 bytes that are no key of this server: the daemon refuses the frame.
            with Daemon(directory / "two", url, token, "ed25519:" + "A" * 43, cert) as daemon:
                until("the daemon listens", listens)
                server.ask("POST", "/frames", frame("refused"), token=token)
                until("the daemon names the reason", lambda: daemon.says("outcome=wrong_key"))
                assert not set(kept(daemon.cache)), "nothing is kept that another key signed"
    print("alter-runtime: passed")


main()
