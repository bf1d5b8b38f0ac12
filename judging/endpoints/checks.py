"""Checks before an endpoint is called: its host, against server-side request forgery (SSRF), its key and its headers.

Secrets stay in the environment. Site admins choose where these are sent, so only variables whose names mark them as
endpoints' keys can be named.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from urllib.parse import SplitResult, parse_qsl, urlsplit

from django.conf import settings

from annotation.core.reasons import reason
from judging.core.errors import BadSettings, EndpointRefused
from judging.models import Endpoint

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[Address]]
# Strict, since libraries disagree on what is an address and what is a name.
NETLOC = re.compile(r"(?:\[[0-9a-f:.]+(?:%[\w.~-]+)?\]|[a-z0-9._-]+)(?::[0-9]*)?", re.ASCII | re.IGNORECASE)
# Missing in Python's `is_global`, or metadata services of clouds.
NOT_PUBLIC = [
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "168.63.129.16/32",
        "100.100.100.200/32",
        "3fff::/20",
        "5f00::/16",
    )
]
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # an IPv4 address as an IPv6-only network reaches it
VARIABLE = re.compile(r"(?!DATABASE_|DJANGO_|AWS_|.*(?:SECRET|PROLIFIC|MTURK))(?=.*(?:KEY|TOKEN))[A-Z][A-Z0-9_]{0,99}")
FROM_VARIABLE = "env:"
MAX_HEADERS = 20
MAX_HEADER_LENGTH = 1000
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
# Such names and values indicate a secret.
SECRET_NAME = re.compile(
    r"auth|cookie|credential|passw|secret|session|signature|token|api[-_]?key|access[-_]?key|(?:^|[-_])key(?:$|[-_])",
    re.IGNORECASE,
)
SECRET_VALUE = re.compile(
    r"(?:bearer|basic|digest|token)\s|(?:sk|pk|rk|ghp|hf|xox[a-z])[-_]\w{8}|eyJ[\w-]{8}", re.IGNORECASE
)
# Set by the client; other values would change where the request goes or how it is parsed.
RESERVED_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect"),
        *("host", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "user-agent", "via"),
    }
)


class UnresolvedHost(EndpointRefused):
    """The host has no address at present."""


def resolve(host: str, port: int) -> list[Address]:
    """Return every address of a host.

    Raises: UnresolvedHost
    """
    if (address := literal(host)) is not None:
        return [address]
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnresolvedHost(reason("host_not_resolved", host=host, error=str(error))) from error
    return sorted({ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in addresses}, key=str)


def literal(host: str) -> Address | None:
    """Parse a host that is an address, also in the legacy forms: `2130706433`, `0x7f.1`, `0177.0.0.1`."""
    with suppress(OSError):
        return ipaddress.IPv4Address(socket.inet_aton(host))
    with suppress(ValueError):
        return ipaddress.ip_address(host.partition("%")[0] if ":" in host else host)
    return None


def check_endpoint(base_url: str, *, allowlist: Collection[str], resolver: Resolver = resolve) -> None:
    """Refuse a base URL that isn't plain http(s), or whose host has an address that isn't public.

    The allow-list may name private hosts, or each private address of a host.
    Raises: EndpointRefused; UnresolvedHost if the host has no address at present.
    """
    parts = split_url(base_url)
    host = plain(parts.hostname or "")
    if host not in map(plain, allowlist):
        addresses = resolver(host, parts.port or (443 if parts.scheme == "https" else 80))
        check_addresses(host, addresses, allowlist=allowlist)


def proxy_of(base_url: str) -> str | None:
    """Return the proxy through which an endpoint is called, if any. Hosts that ENDPOINT_ALLOWLIST names need none."""
    host = plain(split_url(base_url).hostname or "")
    in_domain = any(name == "*" or f".{host}".endswith(f".{plain(name).lstrip('.')}") for name in settings.NO_PROXY)
    if in_domain or host in map(plain, settings.ENDPOINT_ALLOWLIST):
        return None
    return settings.ENDPOINT_PROXY or None


def check_addresses(host: str, addresses: Iterable[Address], *, allowlist: Collection[str]) -> None:
    """Refuse a host with an address that is neither public nor on the allow-list, by address or by the host's name.

    Raises: EndpointRefused
    """
    allowed = set(map(plain, allowlist))
    if plain(host) in allowed:
        return
    for address in addresses:
        if not is_public(address) and str(address) not in allowed:
            raise EndpointRefused(reason("host_at_private_address", host=host, address=str(address)))


def plain(host: str) -> str:
    """Normalise a host for comparison."""
    return host.strip().strip("[]").rstrip(".").lower()


def split_url(base_url: str) -> SplitResult:
    """Split and validate a base URL.

    Raises: EndpointRefused for anything but http(s)://host[:port][/path][?query], and for a secret in the query
    """
    try:
        parts = urlsplit(base_url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise EndpointRefused(f"the base URL can't be read: {error}") from error
    if parts.username is not None or parts.password is not None:
        raise EndpointRefused(
            "the base URL holds a user name or password; name the environment variable that holds the key instead"
        )
    if parts.scheme not in ("http", "https") or not has_host:
        raise EndpointRefused(f"the base URL must be http(s)://host[:port][/path][?query], got {base_url}")
    if any(SECRET_NAME.search(name) or SECRET_VALUE.match(value) for name, value in parse_qsl(parts.query)):
        raise EndpointRefused(
            "the base URL's query looks like it holds a key; name the environment variable that holds the key instead"
        )
    if parts.fragment or any(character.isspace() or character == "\\" for character in base_url):
        raise EndpointRefused(f"the base URL must hold no fragment, space or backslash, got {base_url}")
    if not NETLOC.fullmatch(parts.netloc):
        raise EndpointRefused(
            "the base URL's host must be a name in ASCII (xn--… for others), an IPv4 address or an IPv6 address in "
            f"brackets, got {base_url}"
        )
    return parts


def is_public(address: Address) -> bool:
    """Tell whether an address is public. An IPv4 address embedded in an IPv6 one is checked itself."""
    if inner := embedded(address):
        return is_public(inner)
    if isinstance(address, ipaddress.IPv6Address) and address.is_site_local:
        return False
    if any(address in network for network in NOT_PUBLIC if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_loopback)


def embedded(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 one, if any."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour


def check_host(base_url: object) -> None:
    """Refuse a base URL that the settings don't allow. Resolves the host each time, unless only the proxy can.

    Raises: EndpointRefused
    """
    try:
        check_endpoint(str(base_url), allowlist=settings.ENDPOINT_ALLOWLIST, resolver=resolve)
    except UnresolvedHost:
        if not proxy_of(str(base_url)):
            raise


def check_key_env(key_env: str) -> None:
    """Refuse what isn't the name of a variable for an endpoint's key. The error doesn't repeat it: it may be a key.

    Raises: BadSettings
    """
    if key_env and not VARIABLE.fullmatch(key_env):
        raise BadSettings(
            "give the name of an environment variable for this key, in capitals with KEY or TOKEN, such as "
            "MY_API_KEY, and never the key itself; the server's own variables (DATABASE_…, DJANGO_…, AWS_…, "
            "…SECRET…) are not allowed"
        )


def check_headers(headers: object) -> None:
    """Refuse headers that can't be sent, that are reserved, or that hold a secret in plain text.

    Raises: BadSettings, without the value.
    """
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        raise BadSettings(f"headers must be an object of at most {MAX_HEADERS} names with their values")
    if len({str(name).lower() for name in headers}) < len(headers):
        raise BadSettings("a header is given twice")
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise BadSettings("a header's name must be made of letters, digits and dashes")
        if name.lower() in RESERVED_HEADERS:
            raise BadSettings(f"the header {name} is set by the client itself")
        if not isinstance(value, str) or len(value) > MAX_HEADER_LENGTH or not HEADER_VALUE.fullmatch(value):
            raise BadSettings(f"the value of the header {name} must be one line of plain ASCII text")
        if value.startswith(FROM_VARIABLE):
            variable = value.removeprefix(FROM_VARIABLE)
            if not variable:
                raise BadSettings(f"the header {name} names no environment variable behind {FROM_VARIABLE}")
            check_key_env(variable)
        elif SECRET_NAME.search(name) or SECRET_VALUE.match(value):
            raise BadSettings(
                f"the header {name} seems to hold a secret, and secrets are never stored: put it into an "
                f"environment variable, and write {FROM_VARIABLE}MY_API_KEY as the value"
            )


def key_of(endpoint: Endpoint) -> str | None:
    """Return the endpoint's key from the environment.

    Raises: BadSettings if its variable is not set, or holds what can't be sent.
    """
    if not endpoint.key_env:
        return None
    key = settings.ENDPOINT_KEY(endpoint.key_env)
    if key is None:
        raise BadSettings(reason("key_not_set", endpoint=endpoint.name, variable=endpoint.key_env))
    key = str(key).strip()  # a key read from a file may end in a newline
    if not HEADER_VALUE.fullmatch(key):
        raise BadSettings(reason("key_not_sendable", variable=endpoint.key_env))
    return key


def headers_of(endpoint: Endpoint) -> tuple[dict[str, str], list[str]]:
    """Return the headers to send with their variables resolved, and the secret values among them.

    Raises: BadSettings for headers that `check_headers` refuses, or a variable that is not set.
    """
    check_headers(endpoint.headers)
    headers: Mapping[str, str] = endpoint.headers
    sent, secrets = {}, []
    for name, value in headers.items():
        if value.startswith(FROM_VARIABLE):
            variable = value.removeprefix(FROM_VARIABLE)
            key = settings.ENDPOINT_KEY(variable)
            if key is None:
                raise BadSettings(reason("header_not_set", endpoint=endpoint.name, header=name, variable=variable))
            if not HEADER_VALUE.fullmatch(key):
                raise BadSettings(reason("header_not_sendable", variable=variable, header=name))
            value = str(key)
            secrets.append(value)
        sent[name] = value
    return sent, secrets
