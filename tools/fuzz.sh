#!/bin/sh
# `make fuzz`: generated requests and hostile texts, with a real browser. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
sh tools/setup_tests.sh
. tools/test_environment.sh
.venv/bin/python -m pytest tests/fuzz "$@"
