#!/bin/sh
# Everything `make run` does: bring the database up to date, then serve what is in it.
set -eu
cd "$(dirname "$0")/.."
port=${PORT:-8000}
python=$(sh tools/find_python.sh)
"$python" tools/check_port.py "$port"
sh tools/venv.sh base
.venv/bin/python manage.py migrate --verbosity 0
exec .venv/bin/python tools/serve.py --port "$port" --follow-parent
