#!/bin/sh
# Print the path of a Python that Tandem runs on, or an error (exit code 1).
#
# usage: find_python.sh          that of .venv if it works, else as with --new
#        find_python.sh --new    an interpreter to make a virtual environment with
#
# If PYTHON is set, only that interpreter is considered. Otherwise those on PATH are tried, the versions known to work before
# the plain `python3`, which may be too old, or so new that packages have to be compiled. One that can make virtual
# environments is preferred, and above all one that was compiled with profile-guided optimization, as distributions do and
# pyenv does not unless it is told to: without it everything takes about a third longer.
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

can_make_venvs='import ensurepip, venv'
# Debian's flags don't say it, so what lies in /usr is taken for a distribution's.
is_optimized='
import sys, sysconfig
flags = sysconfig.get_config_var("CONFIG_ARGS") or ""
sys.exit(sys.base_prefix != "/usr" and "--enable-optimizations" not in flags)'
slow=
unable=
seen=
for name in python3.13 python3.12 python3.11 python3 python; do
    # Of each name all on PATH: IFS splits it, and holds nothing of use to what else is done here.
    IFS=:
    for folder in $PATH; do
        [ -x "$folder/$name" ] || continue
        if look_at "$folder/$name"; then
            if ! "$path" -c "$can_make_venvs" 2>/dev/null; then
                unable=${unable:-$path}
            elif ! "$path" -c "$is_optimized"; then
                slow=${slow:-$path}
            else
                printf '%s\n' "$path"
                exit 0
            fi
        elif [ -n "$version" ]; then
            seen="${seen:+$seen, }$name is $version"
        fi
    done
done
if [ -n "$slow$unable" ]; then
    printf '%s\n' "${slow:-$unable}"
    exit 0
fi
echo "Tandem needs Python 3.11 or newer; found here: ${seen:-none}. Install one, or name one: PYTHON=/path/to/python3.11" >&2
exit 1
