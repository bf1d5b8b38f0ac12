#!/bin/sh
# Everything `make test` does: every test on SQLite, then the database tests again on a throwaway PostgreSQL.
# Arguments go to pytest in both rounds.
set -eu
cd "$(dirname "$0")/.."
sh tools/setup_tests.sh

. tools/test_environment.sh

status=0
echo "== every test, on SQLite =="
.venv/bin/python -m pytest -n 2 --dist loadgroup "$@" || status=1

echo "== the database tests, on PostgreSQL =="
.venv/bin/python tools/with_postgres.py .venv/bin/python -m pytest -n 2 -m django_db --ignore=tests/browser "$@" || status=1
exit "$status"
