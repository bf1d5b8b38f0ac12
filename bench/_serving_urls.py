"""All URLs, and the baseline: a bare view behind the same middleware that inserts one row."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_POST

from annotation.models import Event, Study
from config.urls import urlpatterns as program


@login_required
@require_POST
def bare(request: HttpRequest) -> HttpResponse:
    """Insert one row and return its key."""
    study = int(request.POST["study"])
    return HttpResponse(str(Event.objects.create(study_id=study, kind=Event.Kind.MESSAGE).pk))


def study_key(request: HttpRequest) -> HttpResponse:
    """Return the key of the only study."""
    return HttpResponse(str(Study.objects.get().pk))


urlpatterns = [path("bare/", bare), path("bare/study/", study_key), *program]
