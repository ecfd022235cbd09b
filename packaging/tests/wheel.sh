# The wheel, with pip and with uv, neither of which may ask anybody else.
WHEEL=$(echo "$PACKAGES"/plenary_server-*.whl)
"$PYTHON" -m venv "$HOME/venv"
"$HOME/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$WHEEL"
"$HOME/venv/bin/plenary" --version
"$HOME/venv/bin/plenary-server" --version | grep -q '^plenary '
# pip compares each file with RECORD when it removes it, and leaves nothing.
"$HOME/venv/bin/pip" uninstall --quiet --yes --disable-pip-version-check plenary-server
[ ! -e "$HOME/venv/bin/plenary" ]

export UV_OFFLINE=1 UV_PYTHON="$PYTHON" UV_PYTHON_DOWNLOADS=never
BEGAN=$(date +%s%N)
plenary() { "$UVX" --quiet --from "$WHEEL" plenary "$@"; }
plenary serve 2> serve.log &
until [ -s ~/.local/share/plenary/server-url ]; do sleep 0.1; done
plenary agent add @you.planner --policy open
plenary agent add @you.porter --policy open
SESSION=$(plenary --as @you.planner session create --invite @you.porter --message "Is the parser done?")
plenary --as @you.porter session join "$SESSION"
plenary --as @you.porter session events "$SESSION" | grep "Is the parser done?"
MS=$(( ($(date +%s%N) - BEGAN) / 1000000 ))
echo "TOLD: $MS ms from uvx to the first message between two agents"
[ "$MS" -lt 60000 ]
# With its own name on PyPI.
"$UVX" --quiet --with "$WHEEL" --from "$WHEEL" plenary-server --version
