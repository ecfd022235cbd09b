"""One HTTP call and its whole answer, repeated where that is safe."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import uuid
from typing import Any, Callable, Literal, Mapping
from urllib.parse import urlsplit

import httpx2

from .._errors import ArgumentError, NetworkError, RefusedError, UnreadableError, refusal
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
        self.url = address(url)
        self.headers = sendable({"user-agent": "plenary-client-python", **headers})
        # A token that was read from a file ends with a line break.
        if token := (token or "").strip():
            self.headers |= sendable({"authorization": f"Bearer {token}"})
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
        head = {**self.headers, **sendable(headers or {})}
        if answer == "json":
            head["accept"] = "application/json"
        if repeat == "key":
            # A fresh key makes every repetition safe, also over a crash of the server.
            idempotency_key = idempotency_key or uuid.uuid4().hex
            head |= sendable({"idempotency-key": idempotency_key})
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


def address(url: str) -> str:
    """The address of a server, without the slash at its end."""
    url = url.strip().rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ArgumentError("the address of the server begins with neither http:// nor https://, or names no host")
    return url


def sendable(headers: Mapping[str, str]) -> dict[str, str]:
    """These headers, if all can be sent. The error does not show the value, which may be a token."""
    for name, value in headers.items():
        if not re.fullmatch(r"(?:[!-~](?:[ -~]*[!-~])?)?", value):
            raise ArgumentError(f"the header `{name}` has a character that a header cannot have")
    return dict(headers)


def parameter(value: Any) -> str:
    """A value in a query."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def read(response: httpx2.Response, answer: Answer) -> Any:
    """The answer, in the form that the operation has."""
    if answer == "bytes":
        return response.content
    if answer == "text":
        return response.text
    # 202 and 204 have no body, whatever the operation answers otherwise.
    if answer == "none" or not response.content and response.status_code in (202, 204):
        return None
    try:
        return response.json()
    except ValueError as cause:
        raise UnreadableError(f"no JSON, but {response.content[:80]!r}") from cause


__all__ = ["AsyncTransport", "RefusedError"]
