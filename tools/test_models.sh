#!/bin/sh
# Everything `make test-models` does: tests of what runs language models, over real ones from the extras. Arguments go to
# pytest.
set -eu
cd "$(dirname "$0")/.."
sh tools/venv.sh dev metrics entities
. tools/test_environment.sh
.venv/bin/python -m pytest tests/models "$@"
