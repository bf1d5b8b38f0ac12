# One image for the web server and the worker: docs/howto/deploy.md. `make image-check` runs the same steps without a container engine.
FROM debian:bookworm-slim AS build
# Versions of packages are those of the suite: Debian updates them for security only.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements/base.txt requirements/redis.txt requirements/
RUN python3 -m venv /opt/tandem \
 && /opt/tandem/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements/base.txt \
 && /opt/tandem/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements/redis.txt
COPY . .
# Without what serves nobody: the installer, texts in languages that Tandem has no pages in, tests, types, Django's maps.
RUN /opt/tandem/bin/pip install --no-cache-dir --no-deps . \
 && /opt/tandem/bin/pip uninstall --yes pip setuptools \
 && find /opt/tandem/lib/python3.11/site-packages -path '*/locale/*' -type d -name LC_MESSAGES \
    -not -path '*/locale/en*' -not -path '*/locale/de/*' -prune -exec rm -r {} + \
 && find /opt/tandem/lib/python3.11/site-packages -type d \( -name tests -o -path '*/joblib/test' -o -path '*/nltk/test' -o -path '*/django/contrib/gis' \) -prune -exec rm -r {} + \
 && find /opt/tandem/lib/python3.11/site-packages -name '*.pyi' -delete

FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
 && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin tandem \
 && install --directory --owner tandem --mode 700 /data
COPY --from=build /opt/tandem /opt/tandem
# /data takes the collected static files and the log of erasures, /tmp is for a tmpfs; all else may be read-only.
ENV PATH=/opt/tandem/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PRODUCTION=on \
    LOG_FORMAT=json \
    MALLOC_ARENA_MAX=1 \
    LISTEN_HOST=0.0.0.0 \
    TANDEM_DATA_DIR=/data
USER 10001
VOLUME /data
EXPOSE 8000
# By a name under which the server answers.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(r.Request('http://127.0.0.1:8000/healthz', headers={'Host': os.environ['ALLOWED_HOSTS'].split(',')[0]}), timeout=9)"]
CMD ["tandem", "serve", "--web-only"]
