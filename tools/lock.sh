#!/bin/sh
# Write requirements/base.txt and requirements/dev.txt from pyproject.toml, for every platform, with hashes;
# requirements/llm.txt, the small model of `make test-llm`, from llm.in, without what its packages depend on.
#
# usage: lock.sh            keep the versions that are locked as far as pyproject.toml allows
#        lock.sh --upgrade  take the newest that pyproject.toml allows
#        lock.sh --check    write nothing; fail when the files are not what this command would write
set -eu
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
upgrade=
check=
case ${1:-} in
    --upgrade) upgrade=--upgrade ;;
    --check) check=yes ;;
    '') ;;
    *) sed -n '5,7s/^# //p' "$0" >&2; exit 2 ;;
esac

# uv takes the versions of the file that it is about to overwrite where it can.
cp requirements/base.txt requirements/dev.txt requirements/llm.txt "$folder" 2>/dev/null || true

compile() {
    .venv/bin/python -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-annotate --no-header ${upgrade:+"$upgrade"} "$@" >/dev/null
}
compile pyproject.toml --output-file "$folder/base.txt"
compile pyproject.toml --extra dev --constraint "$folder/base.txt" --output-file "$folder/dev.txt"
compile requirements/llm.in --no-deps --output-file "$folder/llm.txt"

if [ -z "$check" ]; then
    cp "$folder/base.txt" "$folder/dev.txt" "$folder/llm.txt" requirements/
    exit 0
fi
status=0
for name in base.txt dev.txt llm.txt; do
    diff -u "requirements/$name" "$folder/$name" || status=1
done
if [ "$status" != 0 ]; then
    echo "requirements/ does not match pyproject.toml and llm.in; 'make lock' brings it up to date." >&2
fi
exit "$status"
