"""The dashboards of agentic-framework against our runs: its Streamlit console, and the proxy and the API client of its
Next.js dashboard. Both ask http://localhost:8086 and know no other place, so the server listens there."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path

import streamlit
from served import Server
from streamlit.testing.v1 import AppTest

LISTEN = "127.0.0.1:8086"
# Far more than it takes, so that a slow machine does not matter.
PATIENCE_S = 120


def package() -> Path:
    """Where agentic-framework is."""
    spec = importlib.util.find_spec("agentic")
    assert spec and spec.origin
    return Path(spec.origin).parent


def console(directory: Path, token: str | None) -> AppTest:
    """The Streamlit console, started; its requests take the token from the file for passwords."""
    netrc = directory / "netrc"
    netrc.write_text(f"machine localhost login me password {token}\n" if token else "")
    netrc.chmod(0o600)
    os.environ["NETRC"] = str(netrc)
    streamlit.cache_data.clear()
    return AppTest.from_file(str(package() / "streamlit/agent_console.py"), default_timeout=PATIENCE_S).run()


def ask(app: AppTest, text: str) -> str:
    """Types into the console; what it shows as the answer."""
    app.chat_input[0].set_value(text).run()
    assert not app.exception, app.exception
    *_, (asked, answered) = zip(app.chat_message[::2], app.chat_message[1::2])
    assert asked.markdown[0].value == text, asked
    return "".join(shown.value for shown in answered.markdown)


def streamlit_console(directory: Path, token: str) -> None:
    stranger = console(directory, None)
    assert stranger.exception and "401" in stranger.exception[0].value, stranger
    app = console(directory, token)
    assert not app.exception, app.exception
    agents = app.selectbox[0]
    assert "Agent/echo" in agents.options, agents
    agents.set_value("/agent/echo").run()
    answer = ask(app, "Hello\nyou")
    assert "Hello\nyou" in answer and "turn_end" in answer, answer
    asks = ask(app, '{"demo": [{"wait_for_input": {"name": "Your name"}}]}')
    assert "wait_for_input" in asks and "Your name" in asks, asks


def dashboard(token: str, other: str) -> None:
    """The Next.js dashboard's own code, run by Node."""
    command = [os.environ["PLENARY_A2A_NODE"], str(Path(__file__).with_name("agentic.mjs"))]
    modules = Path(os.environ["PLENARY_A2A_SDK"]).parents[1]
    subprocess.run(
        [*command, str(package() / "dashboard/src/app"), str(modules), token, other],
        check=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
    )


def main() -> None:
    with Server(listen=LISTEN) as server, tempfile.TemporaryDirectory(prefix="plenary-agentic-") as name:
        token = server.agent("@nick.laptop")
        streamlit_console(Path(name), token)
        dashboard(token, server.agent("@bob.phone"))
    print("agentic-framework: passed")


main()
