"""What a call can end in but its answer: refused by the server, cut off by the network, or unreadable."""

from __future__ import annotations

import json
from typing import Any, Mapping

from ._types import ErrorCode


class PlenaryError(Exception):
    """The base of every error of this package."""


class ArgumentError(PlenaryError, ValueError):
    """An argument that no request can have, such as the id `..`. Nothing was sent."""


class NetworkError(PlenaryError):
    """The server was not reached, or the connection broke before the answer was whole.

    A write that was sent with a key may be repeated with the same `idempotency_key`: it is carried out once.
    """

    def __init__(self, message: str, *, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key


class UnreadableError(PlenaryError):
    """The answer is not what the server's description says: perhaps it is not a Plenary server."""


class RefusedError(PlenaryError):
    """The server refused. `code` is stable and for programs, `message` is for people."""

    def __init__(
        self,
        status: int,
        code: ErrorCode | str,
        message: str,
        *,
        field: str | None = None,
        retry_after: float | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code: ErrorCode | str = code
        self.message = message
        self.field = field
        """The member or parameter that is wrong, where the server names one."""
        self.retry_after = retry_after
        """In how many seconds one may try again, where the server says so."""
        self.body = body
        self.idempotency_key = idempotency_key
        """The key that the call was sent with."""


class InvalidError(RefusedError):
    """400, 413, 415, 416, 422, 431: the request itself is wrong."""


class UnauthorizedError(RefusedError):
    """401: the token is missing or not valid."""


class ForbiddenError(RefusedError):
    """403: the token may not do this, or a quota is used up."""


class NotFoundError(RefusedError):
    """404: absent, or not for this token. The server makes no difference."""


class ConflictError(RefusedError):
    """409: the state of things does not allow it."""


class TooManyError(RefusedError):
    """429: a limit of this caller."""


class ServerError(RefusedError):
    """408 and 5xx: the server could not. What became of a write is unknown; repeat it with the same key."""


_CLASSES: dict[int, type[RefusedError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    408: ServerError,
    409: ConflictError,
    429: TooManyError,
}


def refusal(
    status: int, headers: Mapping[str, str], content: bytes, idempotency_key: str | None = None
) -> RefusedError:
    """Reads the shapes that refusals of the rooms have."""
    try:
        body: Any = json.loads(content)
    except ValueError:
        body = None
    detail = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(detail, dict):
        detail = {}
    code = detail.get("code", f"http_{status}")
    message = detail.get("message") or detail.get("detail") or content[:200].decode("utf-8", "replace")
    asked = headers.get("retry-after", "")
    made = _CLASSES.get(status, ServerError if status >= 500 else InvalidError)
    return made(
        status,
        str(code),
        str(message),
        field=detail.get("field"),
        retry_after=float(asked) if asked.isdigit() else None,
        body=body,
        idempotency_key=idempotency_key,
    )
