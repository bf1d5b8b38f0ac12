#!/bin/sh
# `make coverage`: run every test on SQLite and report the lines and branches that they cover.
# Arguments go to pytest. Processes that tests start are not measured.
set -eu
cd "$(dirname "$0")/.."
sh tools/setup_tests.sh
. tools/test_environment.sh
.venv/bin/python -m pytest -n 2 --cov --cov-report term --cov-report html "$@"
echo "Line by line: var/coverage/index.html"
