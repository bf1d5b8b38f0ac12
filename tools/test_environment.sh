# Source this (`.`) before running tests: a clean environment, and a data folder that is removed at exit.
#
# No setting of this machine's installation may reach the tests: no database, key or list of allowed hosts.
TANDEM_DATA_DIR=$(mktemp -d)
trap 'rm -rf "$TANDEM_DATA_DIR"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
DATABASE_URL=sqlite:///$TANDEM_DATA_DIR/tandem.sqlite3
SECRET_KEY= # generated in that folder
ENDPOINT_ALLOWLIST=
PLATFORM_ALLOWLIST=
PROMPT_FOLDER=
export TANDEM_DATA_DIR DATABASE_URL SECRET_KEY ENDPOINT_ALLOWLIST PLATFORM_ALLOWLIST PROMPT_FOLDER
unset PYTHONDONTWRITEBYTECODE # else each program that a test starts compiles every module
unset MAKEFLAGS MAKELEVEL MFLAGS # a `make` that a test starts is not a sub-make
