"""POST requests that are sent again after an answer was lost: by their `Idempotency-Key` they are done once."""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ParseError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from annotation.api.bodies import user_of
from annotation.core.errors import AnnotationError, Unacceptable
from reporting.models import SentRequest

HEADER, LONGEST = "Idempotency-Key", 100
KEPT_FOR = timedelta(days=1)
Handler = Callable[..., Any]


class Schema(AutoSchema):
    """Describes the header of every POST."""

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters that no serializer and no filter has."""
        description = (
            f"A key of the client's choice, up to {LONGEST} characters. A request repeated with it within a day is "
            "done only once."
        )
        header = OpenApiParameter(HEADER, str, OpenApiParameter.HEADER, description=description)
        return [*super().get_override_parameters(), *([header] if self.method == "POST" else [])]


def done_once(request: Request, key: str, handler: Handler, *, keeps_answer: bool) -> Handler:
    """Wrap the handler of a POST: the same request under the same key gets the answer of the first.

    keeps_answer : False for one that holds secrets, which is not stored: the request is refused the second time
    Raises, when called: ParseError for a key that is too long; Unacceptable for another request's key; AnnotationError
    for an answer that was not kept. A request that is refused is not remembered.
    """

    def answer(inner: Request, *args: Any, **kwargs: Any) -> Any:
        if not 1 <= len(key) <= LONGEST:
            raise ParseError(f"{HEADER} must have 1 to {LONGEST} characters")
        return once(inner, digest_of(inner), *args, **kwargs)

    @transaction.atomic
    def once(inner: Request, digest: str, *args: Any, **kwargs: Any) -> Any:
        now = timezone.now()
        SentRequest.objects.filter(sent_at__lt=now - KEPT_FOR).delete()
        sent, is_new = SentRequest.objects.get_or_create(
            user=user_of(inner), key=key, defaults={"digest": digest, "sent_at": now}
        )
        if is_new:
            response = handler(inner, *args, **kwargs)
            sent.status, sent.location = response.status_code, response.headers.get("Location", "")
            sent.answer = JSONRenderer().render(response.data).decode() if keeps_answer else None
            sent.save()
            return response
        if sent.digest != digest:
            raise Unacceptable(f"this {HEADER} was sent with another request")
        if sent.answer is None:
            raise AnnotationError("this was done before; its answer is not kept")
        headers = {"Location": sent.location} if sent.location else {}
        return HttpResponse(sent.answer, status=sent.status, content_type="application/json", headers=headers)

    return answer


def digest_of(request: Request) -> str:
    """Return the hash of a request's address and content with its files, or of the size of too large JSON."""
    digest = hashlib.sha256(request.get_full_path().encode())
    if not request.content_type.startswith("application/json"):  # a form's boundary may be another each time
        digest.update(repr(sorted(request.POST.lists())).encode())
        for name, files in sorted(request.FILES.lists()):
            for file in files:
                digest.update(repr((name, file.name, file.size)).encode())
                for chunk in file.chunks():
                    digest.update(chunk)
                file.seek(0)
        return digest.hexdigest()
    size = int(request.META.get("CONTENT_LENGTH") or 0)
    has_small_body = (
        request.content_type.startswith("application/json") and size <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    )
    digest.update(f" {size} ".encode())
    digest.update(request._request.body if has_small_body else b"")  # noqa: SLF001  # before the parser reads it
    return digest.hexdigest()
