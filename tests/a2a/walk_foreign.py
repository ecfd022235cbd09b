"""Our server runs foreign agents: kind `a2a`, against the servers of the Python SDK, over each of its bindings, and of the TypeScript
SDK."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

from served import Server


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


HERE = Path(__file__).parent
# Each with the port behind the program, and what comes behind it.
AGENTS = {
    "Python, JSON-RPC": ([sys.executable, str(HERE / "foreign.py")], ["JSONRPC"]),
    "Python, HTTP+JSON": ([sys.executable, str(HERE / "foreign.py")], ["HTTP+JSON"]),
    "Python, gRPC": ([sys.executable, str(HERE / "foreign.py")], ["GRPC"]),
    "TypeScript, JSON-RPC": ([os.environ["PLENARY_A2A_NODE"], str(HERE / "foreign.mjs")], []),
}


def walk(program: list[str], more: list[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    foreign = subprocess.Popen([*program, str(port), *more])
    try:
        card = f"http://127.0.0.1:{port}/.well-known/agent-card.json"
        while not answers(card):
            assert foreign.poll() is None, "the foreign agent did not start"
        config = f'[agents.foreign]\nkind = "a2a"\nowner = "nick"\nurl = "http://127.0.0.1:{port}"\n'
        with urllib.request.urlopen(card, timeout=5) as shown:
            (interface,) = json.load(shown)["supportedInterfaces"]
        if interface["protocolBinding"] == "GRPC":
            config += f'grpc = "http://{interface["url"]}"\n'
        with Server(config) as server:
            token = server.agent("@nick.laptop", policy="open")

            def run(body: dict[str, object]) -> dict[str, object]:
                return server.ask("POST", "/agent/foreign/run?wait=result", body, token)

            ended = run({"input": "Hello"})
            assert ended["finish_reason"] == "success" and ended["result"] == "You said: Hello", ended
            events = server.ask("GET", f"/agent/foreign/get_events?run_id={ended['run_id']}&since=0", None, token)
            made = [event for event in events if event["type"] == "ArtifactGenerated"]
            assert [(one["name"], one["mime_type"]) for one in made] == [("a.bin", "application/x-a")], events
            failed = run({"input": "fail"})
            assert failed["finish_reason"] == "error" and "It broke." in str(failed["error"]), failed
            slow = {"input": "slow"}
            begun = server.ask("POST", "/agent/foreign/run?wait=true", slow, token)
            server.ask("POST", "/agent/foreign/run", {"type": "CancelRequest", "run_id": begun["run_id"]}, token)
            while (over := server.ask("GET", f"/agent/foreign/runs/{begun['run_id']}", None, token))["status"] == "running":
                pass
            assert over["status"] == "canceled", over
            asks = run({"input": "ask"})
            assert asks["type"] == "WaitForInput" and asks["request_keys"] == {"answer": "Your name?"}, asks
            resume = {"type": "ResumeWithInput", "run_id": asks["run_id"], "request_keys": {"answer": "Nick"}}
            server.ask("POST", "/agent/foreign/run", resume, token)
            stream = f"/agent/foreign/get_events?run_id={asks['run_id']}&stream=true&since=0"
            request = urllib.request.Request(server.url + stream, headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=60) as response:
                assert b"You said: Nick" in response.read()
    finally:
        foreign.kill()
        foreign.wait()


for name, (program, more) in AGENTS.items():
    walk(program, more)
    print(f"kind a2a ({name}): passed")
