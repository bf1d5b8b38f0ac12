"""Requests and responses: htmx, domain errors, prefetching, clients' addresses, and TLS to other hosts."""

import ipaddress
import re
import ssl
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

from django.conf import settings
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.crypto import salted_hmac
from django_htmx.http import HttpResponseClientRedirect

from annotation.core.errors import AnnotationError, BadFile, OtherAccount, Unacceptable, UnknownName, UnknownStudy

T = TypeVar("T")
Response = TypeVar("Response", bound=HttpResponseBase)

MOST_SHOWN = 100
# Beginnings of the addresses that raters open, beside the start page and their account.
RATERS_PAGES = ("/rate/", "/join/", "/mturk/", "/login/", "/logout/", "/language/")
_IPV6_NETWORK = 64  # bits: the prefix assigned to a household or a phone, which can use any address in it
# Some proxies add the port, which differs between connections.
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([\d.]+):\d+")
_PRIVATE = b"\xfd"  # first byte of the IPv6 addresses that are not routed on the internet


def is_htmx(request: HttpRequest) -> bool:
    """Tell whether htmx made the request, and gets a partial."""
    return request.META.get("HTTP_HX_REQUEST") == "true"


def is_for_raters(request: HttpRequest) -> bool:
    """Tell whether a page may be opened by raters, and is shown in their language."""
    return request.path_info == "/" or request.path_info.startswith((*RATERS_PAGES, "/account/"))


def page_base(request: HttpRequest) -> str:
    """Return the template that a page extends: for htmx, the main part alone."""
    return "main.html" if is_htmx(request) else "base.html"


def go_to(request: HttpRequest, address: str) -> HttpResponse:
    """Redirect the browser, also for htmx, which would follow a redirect unseen."""
    return HttpResponseClientRedirect(address) if is_htmx(request) else redirect(address)


def as_download(response: Response, name: str) -> Response:
    """Have the browser save a response as a file, which no cache keeps."""
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    return response


def error_text(error: AnnotationError) -> str:
    """Return an error's message, with the first MOST_SHOWN lines of a bad file."""
    return error.abridged(MOST_SHOWN) if isinstance(error, BadFile) else str(error)


def page_text(error: AnnotationError) -> str:
    """Return an error's message as a page shows it."""
    return error.on_page or error_text(error)


def status_of(error: AnnotationError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, UnknownStudy | UnknownName):
        return 404
    if isinstance(error, BadFile | Unacceptable):
        return 422
    return 401 if isinstance(error, OtherAccount) else 409


def attempt(form: BaseForm, service: Callable[[], T], *, field: str | None = None) -> T | None:
    """Call a service. Show its domain error at the form: at its own field, at `field`, or above all fields."""
    try:
        return service()
    except AnnotationError as error:
        own = error.field if isinstance(error, UnknownName) and error.field in form.fields else None
        form.add_error(own or field, page_text(error))
        return None


def skip_prefetch(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer HEAD and prefetch requests with 204, for pages that are recorded as shown when they are sent."""

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if request.method == "HEAD" or "prefetch" in request.headers.get("Sec-Purpose", ""):
            return HttpResponse(status=204)
        return view(request, **kwargs)

    return wrapped


def client_ip(request: HttpRequest) -> str | None:
    """Return the client's address. Behind a proxy, the last one in X-Forwarded-For."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_PROXY else ""
    return forwarded.rsplit(",", 1)[-1].strip() or request.META.get("REMOTE_ADDR")


def restrict_referrer(response: HttpResponse, *, holds_form: bool = False) -> HttpResponse:
    """Set Referrer-Policy, so that the URL with its sign-in token is not sent to other sites.

    holds_form : the page posts a form, for which Django's CSRF check needs the Referer
    """
    response["Referrer-Policy"] = "same-origin" if holds_form else "no-referrer"
    return response


def network_of(address: str | None) -> str:
    """Return the client's IPv4 address, or its IPv6 network."""
    if address and (port := _WITH_PORT.fullmatch(address)):
        address = port[1] or port[2]
    try:
        ip = ipaddress.ip_address((address or "").split("%")[0])
    except ValueError:  # a Unix socket, or a word that a proxy put in its place
        return address or ""
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ip.ipv4_mapped or ipaddress.ip_network((ip, _IPV6_NETWORK), strict=False))
    return str(ip)


def pseudonym_of(request: HttpRequest) -> str:
    """Return a keyed hash of the client's network, formatted as an IPv6 address since django-axes stores addresses."""
    digest = salted_hmac("tandem.sign-in", network_of(client_ip(request)), algorithm="sha256").digest()
    return str(ipaddress.IPv6Address(_PRIVATE + digest[:15]))


@cache
def tls_context() -> ssl.SSLContext:
    """Return the context of all clients: to read the certificate authorities takes a client 25 ms of a processor."""
    # Imported here, since most processes don't need it.
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)
