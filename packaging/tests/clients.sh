# The typed clients: what is packed can be installed, has its types, and asks for nothing that it does not name.
WHEEL=$(echo "$PACKAGES"/plenary_client-*.whl)
"$PYTHON" -m venv "$HOME/venv"
"$HOME/venv/bin/pip" install --quiet --no-index --no-deps --disable-pip-version-check "$WHEEL"
"$HOME/venv/bin/pip" show --files plenary-client > shown
grep -q "plenary_client/py.typed" shown
grep -q "^Requires: httpx2" shown
"$HOME/venv/bin/python" -c "from importlib.util import find_spec; assert find_spec('plenary_client')"
# pip compares each file with RECORD when it removes it, and leaves nothing.
"$HOME/venv/bin/pip" uninstall --quiet --yes --disable-pip-version-check plenary-client

mkdir -p app
npm install --prefix app --offline --no-audit --no-fund --loglevel error "$PACKAGES"/plenary-client-*.tgz
[ -f app/node_modules/@plenary/client/dist/index.d.ts ]
(cd app && node --input-type=module -e "
  import * as client from '@plenary/client';
  if (Object.keys(client).length === 0) throw new Error('it exports nothing');
")
