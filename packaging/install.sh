#!/bin/sh
# Installs Plenary @VERSION@ for you alone: fetches the archive of this platform, compares its SHA-256, and puts the program
# into ~/.local/bin.
#
#   sh install.sh [--from URL-or-directory] [--to directory]

set -eu

VERSION=@VERSION@
FROM=@URL@
TO=${HOME:?}/.local/bin

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

fetch() { # NAME FILE
    case $FROM in
    https://*)
        if command -v curl >/dev/null; then
            curl --proto '=https' --tlsv1.2 -fsSL "$FROM/$1" -o "$2"
        else
            wget -q --https-only "$FROM/$1" -O "$2"
        fi || fail "$FROM/$1 could not be fetched"
        ;;
    *://*) fail "$FROM: only https is fetched from" ;;
    *) cp "$FROM/$1" "$2" || fail "$FROM/$1 is not there" ;;
    esac
}

digest() { # FILE
    if command -v sha256sum >/dev/null; then
        sha256sum <"$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 <"$1"
    else
        fail "neither sha256sum nor shasum is there to compare the checksum"
    fi | cut -d' ' -f1
}

# The checksum that the release states for a file; nothing if it has no such file.
stated() { # NAME
    while read -r sum name; do
        if [ "$name" = "$1" ]; then
            echo "$sum"
        fi
    done <"$DIRECTORY/SHA256SUMS"
}

main() {
    while [ $# -gt 0 ]; do
        case $1 in
        --from) FROM=${2:?--from needs a value} && shift 2 ;;
        --to) TO=${2:?--to needs a value} && shift 2 ;;
        *) fail "unknown argument $1; the arguments are --from and --to" ;;
        esac
    done
    if [ -z "$FROM" ]; then
        # The script lies beside the archives.
        FROM=$(dirname "$0")
    fi
    [ "$(uname -s)" = Linux ] || fail "there is a binary for Linux only; elsewhere build it: cargo install --locked --path crates/plenary"
    case $(uname -m) in
    x86_64 | amd64) MACHINE=x86_64 ;;
    aarch64 | arm64) MACHINE=aarch64 ;;
    *) fail "there is no binary for $(uname -m)" ;;
    esac
    DIRECTORY=$(mktemp -d)
    trap 'rm -rf "$DIRECTORY"' EXIT
    fetch SHA256SUMS "$DIRECTORY/SHA256SUMS"
    # The static binary runs everywhere.
    for LIBC in musl gnu; do
        STEM=plenary-$VERSION-$MACHINE-unknown-linux-$LIBC
        WANTED=$(stated "$STEM.tar.gz")
        [ -z "$WANTED" ] || break
    done
    [ -n "$WANTED" ] || fail "this release has no binary for $MACHINE"
    fetch "$STEM.tar.gz" "$DIRECTORY/archive"
    FOUND=$(digest "$DIRECTORY/archive")
    [ "$FOUND" = "$WANTED" ] || fail "$STEM.tar.gz has the SHA-256 $FOUND, and $WANTED is stated: nothing was installed"
    tar -xzf "$DIRECTORY/archive" -C "$DIRECTORY"
    mkdir -p "$TO"
    # A running server keeps the program that it has open.
    cp "$DIRECTORY/$STEM/plenary" "$TO/.plenary.new"
    chmod 755 "$TO/.plenary.new"
    mv -f "$TO/.plenary.new" "$TO/plenary"
    echo "installed: $TO/plenary"
    case :$PATH: in
    *:"$TO":*) ;;
    *) echo "add $TO to your PATH" ;;
    esac
    echo "next: plenary demo"
}

# All of the script is here before any of it runs.
main "$@"
