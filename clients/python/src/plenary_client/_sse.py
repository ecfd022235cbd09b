"""Server-sent events, out of lines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerEvent:
    """One event; `id` is None where it has none of its own."""

    id: str | None
    name: str
    data: str

    @property
    def is_place(self) -> bool:
        """Whether it has an id alone: it only says where the stream goes on."""
        return not self.data


class EventParser:
    """Takes bytes and gives events. Lines end with LF, CR or both; comments are dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_cr = False
        self._id: str | None = None
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        after_cr = self._after_cr
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        if after_cr:
            chunk = chunk.removeprefix(b"\n")
        text = (self._rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self._rest = text.split(b"\n")
        events = []
        for line in lines:
            event = self._line(line.decode("utf-8", "replace"))
            if event:
                events.append(event)
        return events

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            known = bool(self._data) or self._id is not None
            event = ServerEvent(self._id, self._name or "message", "\n".join(self._data)) if known else None
            self._id, self._name, self._data = None, "", []
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None
