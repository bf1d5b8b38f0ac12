#!/bin/sh
# `make test-llm`: every method that calls a model judges ten pairs with a small language model served on this machine.
# Arguments go to pytest, as `-k prepair`.
set -eu
cd "$(dirname "$0")/.."
sh tools/venv.sh dev
sh tools/get_small_model.sh
. tools/test_environment.sh
# Each method is one test, which takes minutes.
.venv/bin/python -m pytest -o timeout=3600 -o faulthandler_timeout=3700 tests/llm "$@"
