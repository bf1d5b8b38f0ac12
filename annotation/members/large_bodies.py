"""Large request bodies: taken from accounts only, and refused before anything of them is read or stored."""

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.members.tokens import find_token, key_of

STRANGERS_MOST = 64 * 1024  # bytes: more than any form that is sent without an account


class BodySizeMiddleware(MiddlewareMixin):
    """Refuses the large bodies of strangers, and any body of more than four times what may be uploaded.

    Of a smaller one that is too large the form says so: a browser shows no answer that comes before it has sent all.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Look at the announced length; a body without one is not read at all."""
        size = int(request.META.get("CONTENT_LENGTH") or 0)
        if size > 4 * settings.UPLOAD_MAX_BYTES:
            limit = settings.UPLOAD_MAX_BYTES // 2**20
            return _refusal(request, _("This is too large: up to %(limit)d MB are taken.") % {"limit": limit})
        if size > STRANGERS_MOST and not is_from_account(request):
            limit = STRANGERS_MOST // 2**10
            return _refusal(
                request, _("More than %(limit)d KB are taken from signed-in users only.") % {"limit": limit}
            )
        return None


def _refusal(request: HttpRequest, message: str) -> HttpResponse:
    refusal: HttpResponse
    if request.path.startswith("/api/"):
        refusal = JsonResponse({"detail": message}, status=413)
    else:
        refusal = HttpResponse(message, status=413, content_type="text/plain; charset=utf-8")
    refusal["Connection"] = "close"  # else the server would read the body before it takes the next request
    return refusal


def is_from_account(request: HttpRequest) -> bool:
    """Tell whether a request has the session of an active account, or the key of a valid token."""
    key = key_of(request.META.get("HTTP_AUTHORIZATION", ""))
    if key is not None:
        token = find_token(key=key, at=timezone.now())
        return token is not None and token.user.is_active
    return get_user(request).is_authenticated


@require_safe
def large_bodies(request: HttpRequest) -> HttpResponse:
    """Tell a proxy whether it may take a large body: 204, or 403 for strangers."""
    return HttpResponse(status=204 if is_from_account(request) else 403)
