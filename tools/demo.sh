#!/bin/sh
# `make demo`.
set -eu
cd "$(dirname "$0")/.."
port=${PORT:-8000}
sh tools/venv.sh base
exec .venv/bin/python manage.py demo --port "$port"
