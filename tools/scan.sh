#!/bin/sh
# `make scan`: known vulnerabilities of the locked packages, and secrets in the files that git knows.
#
# Asks the package index for advisories. Exit code 1: something was found; 2: nothing was, but the index could not be asked
# about some package, so that this is not known.
set -eu
cd "$(dirname "$0")/.."
run() { from=$1; shift; .venv/bin/uv tool run --quiet --from "$from" "$@"; }

status=0
unknown=
said=$(mktemp)
trap 'rm -f "$said"' EXIT
echo "== packages with known vulnerabilities =="
for lock in base dev entities docs; do
    run pip-audit==2.10.1 pip-audit --strict --disable-pip --require-hashes -r "requirements/$lock.txt" 2>"$said" && continue
    cat "$said" >&2
    if grep -q '^Found' "$said"; then status=1; else unknown="$unknown $lock"; fi
done

echo "== secrets =="
hook() { # the given detectors off; NUL-separated names of files from standard input
    off=; for plugin in "$@"; do off="$off --disable-plugin $plugin"; done
    # shellcheck disable=SC2086
    xargs -0 .venv/bin/uv tool run --quiet --from detect-secrets==1.5.0 detect-secrets-hook $off \
        --exclude-lines 'AKIAIOSFODNN7EXAMPLE|e30\.e30|-for-a-check|only for this benchmark|//USER:PASSWORD@'
}
# Tests have passwords of made-up people: there, what has the form of a provider's key or token counts.
git ls-files -z -- . ':!tests' ':!requirements' ':!locale' ':!*.svg' ':!*.png' ':!static/vendor' | hook || status=1
git ls-files -z -- tests | hook KeywordDetector HexHighEntropyString Base64HighEntropyString BasicAuthDetector || status=1
if [ -n "$unknown" ]; then
    echo "NOT CHECKED: the package index gives no advisories here; whether these have known vulnerabilities is not known:$unknown" >&2
    [ "$status" != 0 ] || status=2
elif [ "$status" = 0 ]; then
    echo "nothing found"
fi
exit "$status"
