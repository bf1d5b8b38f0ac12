#!/bin/sh
# Everything `make test` does: every test on SQLite, then the database tests again on a throwaway PostgreSQL.
# Arguments go to pytest in both rounds.
set -eu
cd "$(dirname "$0")/.."
sh tools/setup_tests.sh

# Nothing of this machine's own installation may reach the tests: no database, no key, no list of allowed hosts.
TANDEM_DATA_DIR=$(mktemp -d)
trap 'rm -rf "$TANDEM_DATA_DIR"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
DATABASE_URL=sqlite:///$TANDEM_DATA_DIR/tandem.sqlite3
SECRET_KEY= # one is made in that folder
ENDPOINT_ALLOWLIST=
PLATFORM_ALLOWLIST=
export TANDEM_DATA_DIR DATABASE_URL SECRET_KEY ENDPOINT_ALLOWLIST PLATFORM_ALLOWLIST
unset MAKEFLAGS MAKELEVEL MFLAGS # a make that a test starts is not part of ours

status=0
echo "== every test, on SQLite =="
.venv/bin/python -m pytest -n 2 --dist loadgroup "$@" || status=1

echo "== the database tests, on PostgreSQL =="
.venv/bin/python tools/with_postgres.py .venv/bin/python -m pytest -n 2 -m django_db --ignore=tests/browser "$@" || status=1
exit "$status"
