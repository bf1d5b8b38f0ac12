"""Protection against server-side request forgery (SSRF): hosts that may be called."""

import ipaddress
import re
import socket
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from urllib.parse import SplitResult, parse_qsl, urlsplit

from django.conf import settings

from judging.core.errors import EndpointRefused
from judging.endpoints.credentials import SECRET_NAME, SECRET_VALUE

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
        raise UnresolvedHost(f"the host {host} can't be resolved: {error}") from error
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
            raise EndpointRefused(
                f"the endpoint's host {host} is at {address}, which is not a public address; "
                f"to allow it, add {host} to the setting ENDPOINT_ALLOWLIST"
            )


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
