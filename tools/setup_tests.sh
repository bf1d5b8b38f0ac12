#!/bin/sh
# Install what the tests need: the development packages, Chromium, PostgreSQL and Redis. What cannot be installed from here is
# printed with its install command (exit code 1).
set -eu
cd "$(dirname "$0")/.."

sh tools/venv.sh dev

python=.venv/bin/python
has_chromium() { "$python" tools/find_chromium.py >/dev/null; }
has_postgres() { "$python" tools/with_postgres.py --check; }
has_redis() { command -v redis-server >/dev/null || { echo "Redis is missing. Install it with: sudo apt-get install redis-server" >&2; return 1; }; }

wanted=
[ -n "${CHROMIUM:-}" ] || has_chromium 2>/dev/null || wanted=chromium
has_postgres 2>/dev/null || wanted="$wanted postgresql postgresql-common"
has_redis 2>/dev/null || wanted="$wanted redis-server"
if [ -n "$wanted" ] && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing $wanted ..."
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    apt-get update -qq || true # the checks below report what is missing
    install() { apt-get install -y -qq --no-install-recommends "$1" >/dev/null; }
    for package in $wanted; do
        # Browser tests take half the processor time with the headless shell, where the system packages it.
        { [ "$package" = chromium ] && install chromium-headless-shell 2>/dev/null; } || install "$package" || true
    done
fi

missing=0
has_chromium || missing=1
has_postgres || missing=1
has_redis || missing=1
exit "$missing"
