"""A member that is left out, and paths with values in them."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, Literal, Mapping, TypeAlias
from urllib.parse import quote

from ._errors import ArgumentError


class _Omit(Enum):
    OMIT = "omit"

    def __repr__(self) -> str:
        return "OMIT"


Omit: TypeAlias = Literal[_Omit.OMIT]
OMIT: Final = _Omit.OMIT
"""The default of whatever may be left out: `None` is a value, JSON's null."""


def path_of(template: str, **values: str | int) -> str:
    """Puts values into a path, percent-encoded.

    An id often comes from a message of somebody else. Without a value, or with `.` or `..`, the path would be that of
    another operation, for URLs are shortened before they are sent, whether a dot is encoded or not.
    """
    for name, value in values.items():
        if str(value) in ("", ".", ".."):
            raise ArgumentError(f"`{name}` is {str(value)!r}, which is no id")
    return template.format_map({name: quote(str(value), safe="") for name, value in values.items()})


def given(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that are not left out."""
    return {name: value for name, value in members.items() if value is not OMIT}
