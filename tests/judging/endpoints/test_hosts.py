"""Which endpoints are refused, and which an allow-list lets through."""

import ipaddress
import socket

import pytest

from judging.core.errors import EndpointRefused
from judging.endpoints.checks import Address, UnresolvedHost, check_endpoint, literal, resolve


def names(**addresses: str):  # type: ignore[no-untyped-def]
    """Make a resolver that knows these names, and addresses as they are."""

    def resolver(host: str, port: int) -> list[Address]:
        known = addresses.get(host.replace(".", "_").replace("-", "_"))
        return [ipaddress.ip_address(text) for text in (known or host).split()]

    return resolver


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "192.0.0.192"),
        *("168.63.129.16", "100.100.100.200", "192.88.99.1", "100.64.0.1", "0.0.0.0", "224.0.0.1", "240.0.0.1"),
        *("255.255.255.255", "[3fff::1]", "[::1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]", "[feff::1]"),
        *("[fd00::1]", "[ff02::1]", "[::ffff:10.0.0.1]", "[::ffff:127.0.0.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]"),
        "[2001:db8::1]",
    ],
)
def test_address_that_is_not_public_is_refused(host: str) -> None:
    with pytest.raises(EndpointRefused, match="ENDPOINT_ALLOWLIST"):
        check_endpoint(f"http://{host}:8000/v1", allowlist=(), resolver=names())


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "0"])
def test_other_ways_to_write_loopback_are_refused(host: str) -> None:
    with pytest.raises(EndpointRefused, match="ENDPOINT_ALLOWLIST"):
        check_endpoint(f"http://{host}/v1", allowlist=(), resolver=resolve)


def test_percent_sign_makes_no_address_of_a_name() -> None:
    assert literal("8.8.8.8%.localhost") is None
    assert literal("fe80::1%eth0") == ipaddress.ip_address("fe80::1")


def test_host_without_an_address_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(UnresolvedHost, match=r"nowhere\.example can't be resolved"):
        resolve("nowhere.example", 443)


@pytest.mark.parametrize("host", ["1.1.1.1", "[2606:4700:4700::1111]", "models.example"])
def test_public_address_is_allowed(host: str) -> None:
    check_endpoint(f"https://{host}/v1", allowlist=(), resolver=names(models_example="93.184.216.34"))


def test_name_with_one_private_address_is_refused() -> None:
    resolver = names(models_example="93.184.216.34 10.0.0.1")
    with pytest.raises(EndpointRefused, match=r"models\.example is at 10\.0\.0\.1"):
        check_endpoint("https://models.example/v1", allowlist=(), resolver=resolver)


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        pytest.param("http://localhost:8000/v1", "localhost", id="name"),
        pytest.param("http://LOCALHOST/v1", " localhost ", id="case and spaces"),
        pytest.param("http://10.0.0.5/v1", "10.0.0.5", id="address"),
        pytest.param("http://[::1]:8000/v1", "[::1]", id="IPv6 in brackets"),
        pytest.param("http://gpu-box/v1", "10.0.0.5", id="the address of a name"),
    ],
)
def test_listed_host_is_allowed(url: str, entry: str) -> None:
    resolver = names(localhost="127.0.0.1", LOCALHOST="127.0.0.1", gpu_box="10.0.0.5")
    check_endpoint(url, allowlist=[entry], resolver=resolver)


def test_listed_host_does_not_open_others() -> None:
    with pytest.raises(EndpointRefused):
        check_endpoint("http://10.0.0.6/v1", allowlist=["10.0.0.5", "localhost"], resolver=names())


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("ftp://models.example/", "must be http", id="scheme"),
        pytest.param("file:///etc/passwd", "must be http", id="file"),
        pytest.param("models.example/v1", "must be http", id="no scheme"),
        pytest.param("https:///v1", "must be http", id="no host"),
        pytest.param("https://me:secret@models.example/", "user name or password", id="credentials"),
        pytest.param("https://models.example/v1?key=1", "holds a key", id="a key in the query"),
        pytest.param("https://models.example/v1?v=sk-0123456789", "holds a key", id="a key's form in the query"),
        pytest.param("https://models.example/v1#x", "no fragment", id="fragment"),
        pytest.param("https://models.example\\@10.0.0.1/", "backslash|credentials|user name", id="backslash"),
        pytest.param("https://models.example:port/", "can't be read", id="port"),
        pytest.param("https://[::1/", "can't be read", id="brackets"),
        pytest.param(
            "http://[::1]x/", "can.t be read|host must be a name", id="behind the brackets"
        ),  # by the newer urlsplit
        pytest.param("http://8.8.8.8%.localhost/", "host must be a name", id="percent sign"),
        pytest.param("http://8.8.8.8%2e127.0.0.1.nip.io/", "host must be a name", id="percent-encoded dot"),
        pytest.param("http://127%2e0%2e0%2e1/", "host must be a name", id="percent-encoded address"),
        pytest.param("http://１２７.0.0.1/", "host must be a name", id="full-width digits"),
        pytest.param("http://127。0。0。1/", "host must be a name", id="ideographic stops"),
    ],
)
def test_malformed_address_is_refused_with_its_reason(url: str, reason: str) -> None:
    with pytest.raises(EndpointRefused, match=reason) as refused:
        check_endpoint(url, allowlist=(), resolver=names(models_example="93.184.216.34"))
    assert "secret" not in str(refused.value)
