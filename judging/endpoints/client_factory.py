"""Making clients for endpoints, and checking endpoints before calls."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from annotation.core.reasons import reason
from judging.core.errors import EndpointRefused, RunStopped
from judging.endpoints.client import OpenAIClient
from judging.endpoints.credentials import check_key_env
from judging.endpoints.hosts import UnresolvedHost
from judging.endpoints.retrying import RetryingClient
from judging.endpoints.services import check_host
from judging.models import Endpoint

log = logging.getLogger(__name__)
MakeClient = Callable[[Endpoint], RetryingClient]


def retrying_client(endpoint: Endpoint) -> RetryingClient:
    """Return a client that retries transient failures."""
    return RetryingClient(OpenAIClient(endpoint))


@contextmanager
def checked(*endpoints: Endpoint | None) -> Iterator[None]:
    """Check endpoints' hosts and keys again before the calls within. Addresses, for site admins only, go to the log.

    Raises: RunStopped if one of them may not be called
    """
    endpoint = endpoints[0]
    try:
        for endpoint in filter(None, endpoints):
            check_host(endpoint.base_url)
            check_key_env(endpoint.key_env)
        yield
    except EndpointRefused as error:
        log.warning("endpoint %s: %s", endpoint, error)
        code = "host_not_found" if isinstance(error, UnresolvedHost) else "host_not_public"
        raise RunStopped(reason(code, endpoint=str(endpoint))) from None
