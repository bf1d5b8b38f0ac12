#!/bin/sh
# Have everything that the tests use: the development packages, Chromium and PostgreSQL. What is missing and cannot be
# installed from here is named, with the command that installs it, and the exit code is 1.
set -eu
cd "$(dirname "$0")/.."

sh tools/venv.sh dev

python=.venv/bin/python
if ! "$python" tools/find_chromium.py >/dev/null 2>&1 || ! "$python" tools/with_postgres.py --check 2>/dev/null; then
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "Installing Chromium and PostgreSQL ..."
        DEBIAN_FRONTEND=noninteractive
        export DEBIAN_FRONTEND
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends chromium postgresql postgresql-common >/dev/null
    fi
fi
missing=0
"$python" tools/find_chromium.py >/dev/null || missing=1
"$python" tools/with_postgres.py --check || missing=1
exit "$missing"
