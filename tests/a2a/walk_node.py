"""The TypeScript SDK of Agent2Agent against our server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from served import Server

with Server() as server:
    environment = os.environ | {"PLENARY_URL": server.url, "PLENARY_TOKEN": server.agent("@nick.laptop")}
    walk = str(Path(__file__).with_name("walk.mjs"))
    subprocess.run([os.environ["PLENARY_A2A_NODE"], walk], env=environment, check=True, timeout=120)
