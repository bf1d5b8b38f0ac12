#!/bin/sh
# `make scan`: known vulnerabilities of the locked packages, and secrets in the files that git knows.
#
# Asks the package index for advisories; fails when it can't be asked about any of the packages.
set -eu
cd "$(dirname "$0")/.."
run() { from=$1; shift; .venv/bin/uv tool run --quiet --from "$from" "$@"; }

status=0
echo "== packages with known vulnerabilities =="
for lock in base dev entities docs; do
    run pip-audit==2.10.1 pip-audit --strict --disable-pip --require-hashes -r "requirements/$lock.txt" || status=1
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
[ "$status" != 0 ] || echo "none found"
exit "$status"
