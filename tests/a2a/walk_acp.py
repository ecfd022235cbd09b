"""The SDK of the Agent Client Protocol as an editor against `plenary acp`, with a server that is killed and started again."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from served import Server

HERE = Path(__file__).parent
NODE, SDK = os.environ["PLENARY_A2A_NODE"], os.environ["PLENARY_ACP_SDK"]
CONFIG = f"""
[agents.coder]
kind = "acp"
command = [{json.dumps(NODE)}, {json.dumps(str(HERE / "acp_agent.mjs"))}]
env = {{ ACP_SDK = {json.dumps(SDK)} }}
owner = "nick"
"""

with Server(CONFIG) as server, tempfile.TemporaryDirectory() as home:
    environment = {"PATH": os.environ["PATH"], "HOME": home, "PLENARY_BIN": os.environ["PLENARY_BIN"]} | {
        "ACP_SDK": SDK,
        "PLENARY_URL": server.url,
        "PLENARY_TOKEN": server.agent("@nick.laptop", policy="open"),
        "PEER_TOKEN": server.agent("@ann.helper", policy="open"),
    }
    walk = subprocess.Popen(
        [NODE, str(HERE / "walk_acp.mjs")], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert walk.stdin is not None and walk.stdout is not None
    # What it wants done with the server, one word a line.
    for line in walk.stdout:
        match line.strip():
            case "kill":
                server.kill()
            case "start":
                server.start()
            case said:
                print(said)
                continue
        walk.stdin.write("done\n")
        walk.stdin.flush()
    assert walk.wait(timeout=30) == 0, "the walk failed"
