#!/bin/sh
# `make faults`: what the runs need beside the tests' packages, then the runs, in a mount namespace of their own for the small disk.
set -eu
cd "$(dirname "$0")/.."
sh tools/setup_tests.sh
has_faketime() { ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1; }
if ! has_faketime && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing faketime ..."
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends faketime >/dev/null || true
fi
has_faketime || { echo "The clock can't be set without faketime. Install it with: sudo apt-get install faketime" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "Only root can mount the small disk: sudo make faults" >&2; exit 1; }
exec unshare --mount .venv/bin/python -m tests.faults "$@"
