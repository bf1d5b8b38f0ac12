#!/bin/sh
# `make demo`. The port and Python are checked before the slow installation.
set -eu
cd "$(dirname "$0")/.."
port=${PORT:-8000}
python=$(sh tools/find_python.sh)
"$python" config/serving/check_port.py "$port" ${LISTEN_HOST:-}
sh tools/venv.sh base
exec .venv/bin/python manage.py demo --port "$port"
