#!/bin/sh
# `make test`: every test on SQLite, then those that depend on the engine on a temporary PostgreSQL.
#
# usage: test.sh [PYTEST ARGUMENT ...]        make test
#        test.sh --all [PYTEST ARGUMENT ...]  make test-all: every database test on PostgreSQL too
#        test.sh --fast [PYTEST ARGUMENT ...] make test-fast: on SQLite, without browser tests and slow ones
#
# Arguments go to pytest in every round.
set -eu
cd "$(dirname "$0")/.."

# Browsers, servers and commands in processes of their own leave a processor waiting: one worker more keeps it at work.
processors=$(getconf _NPROCESSORS_ONLN)
[ "$processors" -le 4 ] || processors=4
on_postgres="engine and django_db"
if [ "${1:-}" = --all ]; then
    on_postgres=django_db
    shift
elif [ "${1:-}" = --fast ]; then
    shift
    sh tools/venv.sh dev
    . tools/test_environment.sh
    .venv/bin/python -m pytest -n "$processors" -m "not slow" --ignore=tests/browser "$@"
    exit
fi
sh tools/setup_tests.sh

. tools/test_environment.sh

status=0
echo "== every test, on SQLite =="
.venv/bin/python -m pytest -n $((processors + 1)) --dist loadgroup "$@" || status=1

echo "== the tests of \"$on_postgres\", on PostgreSQL =="
.venv/bin/python tools/with_postgres.py \
    .venv/bin/python -m pytest -n "$processors" -m "$on_postgres" --ignore=tests/browser "$@" || status=1
exit "$status"
