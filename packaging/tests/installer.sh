# The installer: it installs what has the stated checksum, and nothing else.
(cd "$PACKAGES" && sha256sum --check --strict --quiet SHA256SUMS)
sh "$PACKAGES/install.sh"
"$HOME/.local/bin/plenary" --version
cp -r "$PACKAGES" damaged
ARCHIVE=$(echo damaged/plenary-*-linux-*.tar.gz)
printf X | dd of="$ARCHIVE" bs=1 seek=1000 conv=notrunc status=none
CODE=0; sh damaged/install.sh --to "$HOME/elsewhere" 2> refused || CODE=$?
cat refused
[ "$CODE" = 1 ]
grep -q "nothing was installed" refused
[ ! -e elsewhere ]
# A release without a binary for this machine, and a way that others can read.
sed -i /linux-/d damaged/SHA256SUMS
CODE=0; sh damaged/install.sh 2> refused || CODE=$?
[ "$CODE" = 1 ]
grep -q "no binary" refused
CODE=0; sh "$PACKAGES/install.sh" --from http://localhost/ 2> refused || CODE=$?
[ "$CODE" = 1 ]
grep -q "only https" refused
