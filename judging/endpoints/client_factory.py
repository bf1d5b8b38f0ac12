"""Making clients for endpoints."""

from collections.abc import Callable

from judging.core.errors import EndpointRefused
from judging.endpoints.client import OpenAIClient
from judging.endpoints.hosts import UnresolvedHost
from judging.endpoints.retrying import RetryingClient
from judging.models import Endpoint

MakeClient = Callable[[Endpoint], RetryingClient]


def retrying_client(endpoint: Endpoint) -> RetryingClient:
    """Return a client that retries transient failures."""
    return RetryingClient(OpenAIClient(endpoint))


def explain_refusal(error: EndpointRefused) -> str:
    """Say why an endpoint may not be called, without its address, which is for site admins only."""
    if isinstance(error, UnresolvedHost):
        return "can't be asked: its host has no address at present"
    return "may not be asked: its host is not public, and the setting ENDPOINT_ALLOWLIST does not name it"
