# The packages of npm, without its registry.
npm_install() { npm install --offline --no-audit --no-fund --loglevel error "$@"; }
mkdir -p app alone
npm_install --prefix app "$PACKAGES"/plenary-linux-*.tgz "$PACKAGES"/plenary-[0-9]*.tgz
(cd app && npx --offline --no -- plenary --version | grep "^plenary ")
app/node_modules/.bin/plenary --version | grep -q '^plenary '
# What the binary ends with, the launcher ends with.
CODE=0; app/node_modules/.bin/plenary no-such-command 2> refused || CODE=$?
[ "$CODE" = 2 ]
# A signal reaches the server, which ends in order.
app/node_modules/.bin/plenary serve --data "$HOME/data" > served 2> serve.log &
SERVER=$!
until [ -s data/server-url ]; do sleep 0.1; done
kill -TERM $SERVER
wait $SERVER
[ ! -e data/server-url ]
# Without the package of the platform, it says so.
npm_install --prefix alone --omit=optional "$PACKAGES"/plenary-[0-9]*.tgz
CODE=0; alone/node_modules/.bin/plenary --version 2> missing || CODE=$?
[ "$CODE" = 1 ]
grep -q "no package of npm has a binary" missing
