#!/bin/sh
# `make test`: the tests on SQLite, and beside them those that depend on the engine on a temporary PostgreSQL.
#
# usage: test.sh [PYTEST ARGUMENT ...]        make test
#        test.sh --all [PYTEST ARGUMENT ...]  make test-all: those marked weekly too, and every database test on PostgreSQL
#        test.sh --fast [PYTEST ARGUMENT ...] make test-fast: on SQLite, without browser tests and slow ones
#
# Arguments go to pytest in every round. With --all, PostgreSQL's round comes second.
set -eu
cd "$(dirname "$0")/.."

count_processors() { .venv/bin/python -c 'import os; print(min(os.cpu_count() or 1, 4))'; }
on_sqlite="not weekly"
on_postgres="engine and django_db and not any_engine and not weekly"
if [ "${1:-}" = --all ]; then
    on_sqlite=
    on_postgres=django_db
    export TEST_EXAMPLES=200 # of each property
    shift
elif [ "${1:-}" = --fast ]; then
    shift
    sh tools/venv.sh dev
    . tools/test_environment.sh
    .venv/bin/python -m pytest -n "$(count_processors)" -m "not slow" --ignore=tests/browser "$@"
    exit
fi
sh tools/setup_tests.sh

. tools/test_environment.sh

processors=$(count_processors)
status=0
on_postgresql() { # in place of this shell, with so many workers
    workers=$1
    shift
    echo "== the tests of \"$on_postgres\", on PostgreSQL =="
    exec .venv/bin/python tools/with_postgres.py --in-memory \
        .venv/bin/python -m pytest -n "$workers" -m "$on_postgres" --ignore=tests/browser "$@"
}

# The few tests on PostgreSQL keep a processor at work while browsers, servers and commands in processes of their own leave one
# waiting. More workers than processors took more time: their caches are each other's, and each collects all tests.
if [ -n "$on_sqlite" ]; then
    said=$TANDEM_DATA_DIR/on_postgresql
    on_postgresql 1 "$@" >"$said" 2>&1 &
    beside=$!
    trap 'kill "$beside" 2>/dev/null && wait "$beside"; rm -rf "$TANDEM_DATA_DIR"' EXIT
fi
echo "== the tests, on SQLite =="
DJANGO_SETTINGS_MODULE=config.settings .venv/bin/python -m tests.migrated &
.venv/bin/python -m pytest -n "$processors" -m "$on_sqlite" "$@" || status=1

if [ -n "$on_sqlite" ]; then
    wait "$beside" || status=1
    cat "$said"
else
    (on_postgresql "$processors" "$@") || status=1
fi
exit "$status"
