"""The view of Prolific's webhook, authenticated by a signature instead of a session."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import RawPostDataException
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from annotation.models import Channel
from annotation.recruitment.prolific.site import ProlificSettings
from annotation.recruitment.prolific.webhooks import LARGEST_BODY, BadMessage, read, receive


@csrf_exempt
@never_cache
@require_POST
def webhook(request: HttpRequest, channel_key: str) -> HttpResponse:
    """Receive a message. Any status but 2xx makes Prolific send it again."""
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
    """Return the signed body.

    Raises: BadMessage when it is too long.
    """
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > LARGEST_BODY:
        raise BadMessage("too long", 413)
    try:
        return request.body
    except RawPostDataException:
        raise BadMessage("no body", 400) from None
