"""The client."""

from __future__ import annotations

import os
import ssl
from types import TracebackType
from typing import Any, Callable, Mapping

from .operations import AsyncOperations
from .streams import AsyncStreams
from .transport import AsyncTransport

DEFAULT_URL = "http://127.0.0.1:7420"


class AsyncPlenary(AsyncOperations):
    """A client of one server, with one token.

    Operations are methods in groups, as /openapi.json names them: `session.create` is `client.session.create(…)`.
    `client.streams` has what is live. Without arguments, the address, the token and a CA certificate come from
    `PLENARY_URL`, `PLENARY_TOKEN` and `PLENARY_CACERT`.

    One attempt may take `timeout` seconds; the default is longer than the server lets anybody wait for news.
    What fails for a moment is tried again, `attempts` times in all: reads, and writes that have an idempotency
    key. A fresh key is made for each write that takes one, unless `idempotency_key` gives it. `headers` go with
    every request; `on_call` is told the name of each operation.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        cacert: str | None = None,
        timeout: float = 90.0,
        attempts: int = 5,
        headers: Mapping[str, str] | None = None,
        on_call: Callable[[str], None] | None = None,
    ) -> None:
        cacert = cacert or os.environ.get("PLENARY_CACERT")
        transport = AsyncTransport(
            url or os.environ.get("PLENARY_URL") or DEFAULT_URL,
            token or os.environ.get("PLENARY_TOKEN"),
            timeout=timeout,
            attempts=attempts,
            headers=headers or {},
            tls=ssl.create_default_context(cafile=cacert) if cacert else None,
            on_call=on_call,
        )
        super().__init__(transport)
        self.streams = AsyncStreams(transport)

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Any other request, once; the answer as it came."""
        answer = await self._transport.call(
            f"{method} {path}",
            method,
            path,
            answer="bytes",
            repeat="once",
            query=query,
            body=body,
            headers=headers,
        )
        assert isinstance(answer, bytes)
        return answer

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncPlenary:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
