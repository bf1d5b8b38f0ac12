"""All URLs, and the baseline: bare views behind the same middleware, one that hands out a pair, one that inserts a row."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_POST

from annotation.models import Event, Pair, Study
from config.urls import urlpatterns as program


@login_required
@require_POST
def bare(request: HttpRequest) -> HttpResponse:
    """Insert one row and return its key."""
    study = int(request.POST["study"])
    return HttpResponse(str(Event.objects.create(study_id=study, kind=Event.Kind.MESSAGE).pk))


@login_required
@require_POST
def pair(request: HttpRequest) -> HttpResponse:
    """Hand out the texts of a pair."""
    texts = Pair.objects.filter(pk=int(request.POST["pair"]))
    names = ("matchup__instance__source", "generation_a__text", "generation_b__text")
    return JsonResponse(texts.values(*names).get())


def study_key(request: HttpRequest) -> HttpResponse:
    """Return the key of the only study."""
    return HttpResponse(str(Study.objects.get().pk))


urlpatterns = [path("rate/bare/", bare), path("rate/bare/pair/", pair), path("rate/bare/study/", study_key), *program]
