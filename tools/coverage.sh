#!/bin/sh
# Everything `make coverage` does: every test on SQLite, and which lines and branches of the packages they take.
# Arguments go to pytest. Programs that tests start as processes of their own are not counted.
set -eu
cd "$(dirname "$0")/.."
sh tools/setup_tests.sh
. tools/test_environment.sh
.venv/bin/python -m pytest -n 2 --dist loadgroup --cov --cov-report term --cov-report html "$@"
echo "Line by line: var/coverage/index.html"
