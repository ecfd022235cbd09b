# The Debian package, into a root of its own. Its scripts must not touch the machine, so they run with DPKG_ROOT.
command -v dpkg > /dev/null || { echo "TOLD: no dpkg here: the Debian package was not tried"; exit 0; }
ROOT=$HOME/root
mkdir -p "$ROOT"/var/lib/dpkg/{info,updates,triggers}
touch "$ROOT"/var/lib/dpkg/{status,available}
in_root() { dpkg --root="$ROOT" --log=/dev/null --force-script-chrootless --force-depends --force-not-root "$@"; }
DEB=$(echo "$PACKAGES"/plenary_*.deb)
dpkg-deb --info "$DEB"
in_root --install "$DEB" 2> warnings
(cd "$ROOT" && dpkg-deb --control "$DEB" "$HOME/control" && cat "$HOME/control/conffiles" | grep -qx /etc/plenary/plenary.toml)
"$ROOT/usr/bin/plenary" --version
# The shell that loads its file of completions completes the installed program.
PATH=$ROOT/usr/bin:$PATH bash -c '. "$1/usr/share/bash-completion/completions/plenary" && complete -p plenary' - "$ROOT"
[ -s "$ROOT/usr/share/zsh/vendor-completions/_plenary" ] && [ -s "$ROOT/usr/share/fish/vendor_completions.d/plenary.fish" ]
# Its settings are ones that the server reads.
"$ROOT/usr/bin/plenary" serve --config "$ROOT/etc/plenary/plenary.toml" --data "$ROOT/var/lib/plenary" > served 2> serve.log &
SERVER=$!
until [ -s "$ROOT/var/lib/plenary/server-url" ]; do sleep 0.1; done
kill -TERM $SERVER
wait $SERVER
if command -v systemd-analyze > /dev/null; then
    # Beside the units of this machine, which have what it comes after.
    sed "s,^ExecStart=,&$ROOT," "$ROOT/usr/lib/systemd/system/plenary.service" > plenary.service
    systemd-analyze verify --man=no ./plenary.service 2> verified || true
    if grep plenary.service verified; then exit 1; fi
    # 10 is a unit that protects nothing; what systemd ships for itself is mostly between 2 and 9.
    systemd-analyze security --offline=yes --no-pager --threshold=20 --root="$ROOT" plenary.service > exposure \
        || { cat exposure; exit 1; }
    tail -1 exposure
fi
# What the administrator wrote stays when the package is removed, and goes with it when it is purged; so does the data.
echo "# mine" >> "$ROOT/etc/plenary/plenary.toml"
in_root --remove plenary
[ ! -e "$ROOT/usr/bin/plenary" ]
grep -q "# mine" "$ROOT/etc/plenary/plenary.toml"
[ -e "$ROOT/var/lib/plenary/plenary.db" ]
in_root --purge plenary
[ ! -e "$ROOT/etc/plenary" ]
[ ! -e "$ROOT/var/lib/plenary" ]
