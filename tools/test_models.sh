#!/bin/sh
# `make test-models`: the tests of encoders, embeddings and entities with the real models of the extras, and of models that
# PyTorch runs, in an environment of its own. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
sh tools/venv.sh dev metrics entities
. tools/test_environment.sh
sh tools/get_transformers.sh
.venv/transformers/bin/python -m pytest tests/models "$@"
