"""A language model's server in the shape of OpenAI's chat completions, which answers as a test has written down."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Model:
    """A running model: each request gets the next turn; behind the last one it is 500."""

    def __init__(self, turns: list[dict[str, Any]]) -> None:
        self.prompts: list[dict[str, Any]] = []
        left = list(turns)
        prompts = self.prompts

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                prompts.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                turn = left.pop(0) if left and self.path == "/v1/chat/completions" else None
                if turn is None:
                    status, answer = 500, {"error": {"message": "scripted", "type": "scripted", "code": None}}
                else:
                    status, answer = 200, completion(turn)
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def says(text: str) -> dict[str, Any]:
    return {"content": text}


def calls(tool: str, /, **arguments: Any) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


def completion(turn: dict[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if "tool_calls" in turn else "stop"
    choice = {"index": 0, "message": {"role": "assistant", **turn}, "finish_reason": finish}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "scripted",
        "choices": [choice], "usage": usage,
    }
