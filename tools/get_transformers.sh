#!/bin/sh
# Make the environment .venv/transformers for the tests of models that PyTorch runs: what is in .venv, with PyTorch and
# transformers on top.
#
# They are in no lock file: which build of PyTorch fits depends on the machine, and pip's own settings say which is taken.
set -eu
cd "$(dirname "$0")/.."

folder=.venv/transformers
if [ -x "$folder/bin/python" ] && "$folder/bin/python" -c 'import torch, transformers' 2>/dev/null; then
    exit 0
fi
echo "Installing PyTorch and transformers into $folder (a gigabyte or more) ..."
rm -rf "$folder"
.venv/bin/python -m venv "$folder"
below=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$below" >"$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/below.pth"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input 'torch>=2.6' 'transformers>=5.0'
