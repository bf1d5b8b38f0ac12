#!/bin/sh
# Everything `make test-llm` does: let every asking method judge ten pairs over a real small language model, which is
# served on this machine. Arguments go to pytest, as `-k prepair`.
set -eu
cd "$(dirname "$0")/.."
sh tools/venv.sh dev
sh tools/get_small_model.sh
. tools/test_environment.sh
# A method is one test: that takes minutes, and more beside other work.
.venv/bin/python -m pytest -o timeout=3600 -o faulthandler_timeout=3700 tests/llm "$@"
