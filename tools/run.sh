#!/bin/sh
# `make run`.
set -eu
cd "$(dirname "$0")/.."
port=${PORT:-8000}
sh tools/venv.sh base
exec .venv/bin/python manage.py serve --port "$port" --follow-parent
