"""A real server for the walks: the binary that PLENARY_BIN names, on a free port, with a temporary store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any


class Server:
    """A server, until the block ends. `config` is the text of its configuration file."""

    def __init__(self, config: str = "", listen: str = "127.0.0.1:0", **environment: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="plenary-a2a-")
        self._data = Path(self._directory.name) / "data"
        self._config = Path(self._directory.name) / "plenary.toml"
        self._config.write_text(config)
        self._listen = listen
        self._more = environment
        self.url = ""

    def __enter__(self) -> "Server":
        self.start(self._listen)
        return self

    def kill(self) -> None:
        """Ends the process as a power cut would."""
        self._process.kill()
        self._process.communicate()

    def start(self, address: str = "") -> None:
        """Starts the process; after `kill`, where it was before."""
        address = address or self.url.removeprefix("http://")
        command = [os.environ["PLENARY_BIN"], "serve", "--data", str(self._data), "--listen", address]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PLENARY_", "OTEL_"))} | self._more
        log = (Path(self._directory.name) / "server.log").open("ab")
        command += ["--config", str(self._config)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=environment
        )
        assert self._process.stdout is not None
        found = re.match(rb"listening on (\S+)", self._process.stdout.readline())
        assert found, "the server did not start:\n" + Path(log.name).read_text()
        self.url = found[1].decode()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.kill()
        if kind is not None:
            print((Path(self._directory.name) / "server.log").read_text())
        self._directory.cleanup()

    def ask(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        """Calls an operation; the operator's token unless another is named."""
        token = token or (self._data / "operator-token").read_text().strip()
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("Authorization", f"Bearer {token}")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read()
            return json.loads(text) if text else None

    def agent(self, handle: str, **settings: Any) -> str:
        """Makes an agent; its token."""
        return str(self.ask("POST", "/_admin/agents", {"handle": handle, **settings})["token"])
