"""A client of a Plenary server: every operation, and the live streams, synchronous and asynchronous.

    from plenary_client import Plenary

    with Plenary("http://127.0.0.1:7420", token) as client:
        opened = client.session.create(invite=["@acme.support"], topic="Widget export")
        client.session.send(opened["session_id"], content="Is there a known issue?")
        for event in client.streams.events():
            ...
"""

from . import types
from ._async.client import AsyncPlenary
from ._errors import (
    ArgumentError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NetworkError,
    NotFoundError,
    PlenaryError,
    RefusedError,
    ServerError,
    TooManyError,
    UnauthorizedError,
    UnreadableError,
)
from ._omit import OMIT, Omit
from ._sync.client import Plenary

__all__ = [
    "OMIT",
    "ArgumentError",
    "AsyncPlenary",
    "ConflictError",
    "ForbiddenError",
    "InvalidError",
    "NetworkError",
    "NotFoundError",
    "Omit",
    "Plenary",
    "PlenaryError",
    "RefusedError",
    "ServerError",
    "TooManyError",
    "UnauthorizedError",
    "UnreadableError",
    "types",
]
