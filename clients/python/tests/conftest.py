"""A real server for the tests: the binary that PLENARY_BIN names, on a free port, with a temporary store."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


class Server:
    """One process of the server, and the ones after it on the same port and store."""

    def __init__(self, directory: Path) -> None:
        self.binary = os.environ["PLENARY_BIN"]
        self.data = directory / "data"
        self.url = "http://127.0.0.1:0"
        self._log = directory / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        listen = self.url.removeprefix("http://")
        command = [self.binary, "serve", "--data", str(self.data), "--listen", listen, "--grace", "30s"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PLENARY_", "OTEL_"))}
        environment["XDG_CONFIG_HOME"] = str(self.data.parent)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=environment
            )
        assert self._process.stdout is not None
        found = re.match(rb"listening on (\S+)", self._process.stdout.readline())
        assert found, "the server did not start:\n" + self._log.read_text()
        self.url = found[1].decode()

    def kill(self) -> None:
        """As a crash does: without a word."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self.kill()

    @property
    def operator(self) -> str:
        return (self.data / "operator-token").read_text().strip()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    running.start()
    try:
        yield running
    finally:
        running.stop()
