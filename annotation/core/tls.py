"""TLS of requests to other hosts."""

import ssl
from functools import cache


@cache
def tls_context() -> ssl.SSLContext:
    """Return the context of all clients: to read the certificate authorities takes a client 25 ms of a processor."""
    # Imported here, since most processes don't need it.
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)
