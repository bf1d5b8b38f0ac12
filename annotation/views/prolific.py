"""Messages from Prolific. They carry no session; their signature says whose they are."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import RawPostDataException
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.models import Channel
from annotation.services.prolific_site import ProlificSettings
from annotation.services.prolific_webhooks import LARGEST_BODY, BadMessage, read, receive


@csrf_exempt
@never_cache
@require_POST
def webhook(request: HttpRequest, channel_key: str) -> HttpResponse:
    """Take a message in. A sender that is told anything but 2xx sends it again."""
    channel = get_object_or_404(Channel, key=channel_key, kind=Channel.Kind.PROLIFIC)
    secret = ProlificSettings.of(channel).webhook_secret
    if secret is None:
        return JsonResponse({"error": "no webhook secret is set for this channel"}, status=503)
    try:
        message = read(secret=secret, headers=request.headers, body=_body(request), at=timezone.now())
    except BadMessage as problem:
        return JsonResponse({"error": str(problem)}, status=problem.status)
    return JsonResponse({"result": receive(channel=channel, message=message, at=timezone.now())})


def _body(request: HttpRequest) -> bytes:
    """Return the body as it was signed.

    Raises: BadMessage when it is longer than any message is.
    """
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > LARGEST_BODY:
        raise BadMessage("too long", 413)
    try:
        return request.body
    except RawPostDataException:
        raise BadMessage("no body", 400) from None
