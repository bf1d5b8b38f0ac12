# For the scripts that run tests, to be read in with `.`: an environment of their own, and a folder that goes with them.
#
# Nothing of this machine's own installation may reach the tests: no database, no key, no list of allowed hosts.
TANDEM_DATA_DIR=$(mktemp -d)
trap 'rm -rf "$TANDEM_DATA_DIR"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
DATABASE_URL=sqlite:///$TANDEM_DATA_DIR/tandem.sqlite3
SECRET_KEY= # one is made in that folder
ENDPOINT_ALLOWLIST=
PLATFORM_ALLOWLIST=
PROMPT_FOLDER=
export TANDEM_DATA_DIR DATABASE_URL SECRET_KEY ENDPOINT_ALLOWLIST PLATFORM_ALLOWLIST PROMPT_FOLDER
unset PYTHONDONTWRITEBYTECODE # dozens of tests start programs, which would compile every module again
unset MAKEFLAGS MAKELEVEL MFLAGS # a make that a test starts is not part of ours
