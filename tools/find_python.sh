#!/bin/sh
# Print the path of a Python that Tandem runs on, or an error (exit code 1).
#
# usage: find_python.sh          that of .venv if it works, else as with --new
#        find_python.sh --new    an interpreter to make a virtual environment with
#
# If PYTHON is set, only that interpreter is considered. Otherwise the versions known to work are tried before the plain
# `python3`, which may be too old, or so new that packages have to be compiled; interpreters that can make virtual
# environments are preferred.
set -eu
cd "$(dirname "$0")/.."

probe='import sys; print("%d.%d" % sys.version_info[:2]); print(sys.executable)'

# Set `version` and `path` of the command $1; fail when it is missing, does not run or is older than 3.11.
look_at() {
    version=''
    path=''
    command -v "$1" >/dev/null 2>&1 || return 1
    answer=$("$1" -c "$probe" 2>/dev/null) || answer=$("$1" --version 2>&1) || return 1
    version=$(printf '%s\n' "$answer" | sed -n '1s/^Python *//p;1q')
    [ -n "$version" ] || version=$(printf '%s\n' "$answer" | sed -n '1p')
    path=$(printf '%s\n' "$answer" | sed -n '2p')
    case $version in
        3.1[1-9]* | 3.[2-9][0-9]* | [4-9].*) [ -x "$path" ] ;;
        *) return 1 ;;
    esac
}

if [ -n "${PYTHON:-}" ]; then
    if look_at "$PYTHON"; then
        printf '%s\n' "$path"
        exit 0
    fi
    found=${version:+which is Python $version}
    echo "Tandem needs Python 3.11 or newer, but PYTHON is $PYTHON, ${found:-which does not run}." >&2
    exit 1
fi

if [ "${1:-}" != --new ] && look_at .venv/bin/python; then
    printf '%s\n' "$path"
    exit 0
fi

able=
seen=
for candidate in python3.13 python3.12 python3.11 python3 python; do
    if look_at "$candidate"; then
        if "$path" -c 'import ensurepip, venv' 2>/dev/null; then
            printf '%s\n' "$path"
            exit 0
        fi
        able=${able:-$path}
    elif [ -n "$version" ]; then
        seen="${seen:+$seen, }$candidate is $version"
    fi
done
if [ -n "$able" ]; then
    printf '%s\n' "$able"
    exit 0
fi
echo "Tandem needs Python 3.11 or newer; found here: ${seen:-none}. Install one, or name one: PYTHON=/path/to/python3.11" >&2
exit 1
