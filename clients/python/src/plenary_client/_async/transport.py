"""One HTTP call and its whole answer, repeated where that is safe."""

from __future__ import annotations

import asyncio
import json
import ssl
import uuid
from typing import Any, Callable, Literal, Mapping

import httpx2

from .._errors import NetworkError, RefusedError, UnreadableError, refusal
from .._omit import given
from .._retry import Backoff

FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0

Answer = Literal["json", "text", "bytes", "none"]
Repeat = Literal["read", "key", "once"]
"""`read`: changes nothing; `key`: carried out once under its key; `once`: never repeated."""


class AsyncTransport:
    """Sends calls, with the token, to one server."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        timeout: float,
        attempts: int,
        headers: Mapping[str, str],
        tls: ssl.SSLContext | None,
        on_call: Callable[[str], None] | None,
    ) -> None:
        self.url = url.rstrip("/")
        self.headers = {"user-agent": "plenary-client-python", **headers}
        if token:
            self.headers["authorization"] = f"Bearer {token}"
        self.tls = tls
        self._attempts = max(attempts, 1)
        self.on_call = on_call or (lambda _operation: None)
        self.http = httpx2.AsyncClient(timeout=timeout, verify=tls if tls else True, follow_redirects=False)

    async def aclose(self) -> None:
        await self.http.aclose()

    async def call(
        self,
        operation: str,
        method: str,
        path: str,
        *,
        answer: Answer,
        repeat: Repeat,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        content: bytes | None = None,
        content_type: str | None = None,
        files: Any = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Carries an operation out; `body` is JSON."""
        self.on_call(operation)
        head = {**self.headers, **(headers or {})}
        if answer == "json":
            head["accept"] = "application/json"
        if repeat == "key":
            # A fresh key makes every repetition safe, also over a crash of the server.
            idempotency_key = idempotency_key or uuid.uuid4().hex
            head["idempotency-key"] = idempotency_key
        if body is not None:
            content = json.dumps(given(body) if isinstance(body, dict) else body).encode()
            content_type = "application/json"
        if content_type:
            head["content-type"] = content_type
        parameters = {name: parameter(value) for name, value in given(query or {}).items() if value is not None}
        # A file that is open cannot be sent twice.
        attempts = 1 if repeat == "once" or files is not None else self._attempts
        backoff = Backoff(FIRST_WAIT, LONGEST_WAIT)
        while True:
            attempts -= 1
            try:
                response = await self.http.request(
                    method,
                    self.url + path,
                    params=parameters or None,
                    content=content,
                    files=files,
                    headers=head,
                    timeout=httpx2.USE_CLIENT_DEFAULT if timeout is None else timeout,
                )
                if response.is_success:
                    return read(response, answer)
                error = refusal(response.status_code, response.headers, response.content, idempotency_key)
                if response.status_code not in (503, 429) or attempts == 0:
                    raise error
                wait = max(backoff.next(), min(error.retry_after or 0.0, LONGEST_WAIT))
            except httpx2.TransportError as cause:
                if attempts == 0:
                    message = f"{method} {self.url}{path}: {cause!r}"
                    raise NetworkError(message, idempotency_key=idempotency_key) from cause
                wait = backoff.next()
            await asyncio.sleep(wait)


def parameter(value: Any) -> str:
    """A value in a query."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def read(response: httpx2.Response, answer: Answer) -> Any:
    """The answer, in the form that the operation has."""
    if answer == "bytes":
        return response.content
    if answer == "text":
        return response.text
    if answer == "none" or not response.content:
        return None
    try:
        return response.json()
    except ValueError as cause:
        raise UnreadableError(f"no JSON, but {response.content[:80]!r}") from cause


__all__ = ["AsyncTransport", "RefusedError"]
