"""Client addresses: which of them count as one client, and the pseudonym stored for it."""

import ipaddress
import re

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from annotation.core.http import client_ip

_IPV6_NETWORK = 64  # bits: the prefix assigned to a household or a phone, which can use any address in it
# Some proxies add the port, which differs between connections.
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([\d.]+):\d+")
_PRIVATE = b"\xfd"  # first byte of the IPv6 addresses that are not routed on the internet


def network_of(address: str | None) -> str:
    """Return the client's IPv4 address, or its IPv6 network."""
    if address and (port := _WITH_PORT.fullmatch(address)):
        address = port[1] or port[2]
    try:
        found = ipaddress.ip_address((address or "").split("%")[0])
    except ValueError:  # a Unix socket, or a word that a proxy put in its place
        return address or ""
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, _IPV6_NETWORK), strict=False))
    return str(found)


def pseudonym_of(request: HttpRequest) -> str:
    """Return a keyed hash of the client's network, formatted as an IPv6 address since django-axes stores addresses."""
    digest = salted_hmac("tandem.sign-in", network_of(client_ip(request)), algorithm="sha256").digest()
    return str(ipaddress.IPv6Address(_PRIVATE + digest[:15]))
