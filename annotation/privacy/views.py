"""Views of a person's own data: a page, a file, and erasure."""

from collections.abc import Sequence

from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.members.permissions import account_of
from annotation.models import Annotator
from annotation.privacy.erasing import annotator_records, erase_person, erase_rater, erasure_preview, is_account_needed
from annotation.privacy.own_data import data_of


@login_required
@never_cache
@require_safe
def own_data(request: HttpRequest) -> HttpResponse:
    """Show the data of the signed-in user, with links to the file and to erasure."""
    user = account_of(request)
    return render(request, "annotation/privacy/own_data.html", {"account": user, "places": annotator_records(user)})


@login_required
@never_cache
@require_safe
def own_data_file(request: HttpRequest) -> HttpResponse:
    """Send all data of the signed-in user, as JSON."""
    user = account_of(request)
    response = JsonResponse(
        data_of(annotator_records(user), user), json_dumps_params={"indent": 2, "ensure_ascii": False}
    )
    response["Content-Disposition"] = 'attachment; filename="my-data.json"'
    return response


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def erase(request: HttpRequest, study_key: str = "") -> HttpResponse:
    """Explain what erasure deletes and keeps, and erase in one study, or without a key in all."""
    user = account_of(request)
    annotators: Sequence[Annotator] = [item for item in annotator_records(user) if study_key in ("", item.study.key)]
    if not annotators:
        raise Http404("rates in no such study")
    everywhere = not study_key
    if request.method == "POST" and request.POST.get("confirm") == "yes":
        now = timezone.now()
        if everywhere:
            done = erase_person(annotators=annotators, by=None, at=now)
        else:
            done = [erase_rater(annotator=item, by=None, at=now) for item in annotators]
        if not any(item.account for item in done):
            return redirect("annotation:own-data")
        logout(request)
        return render(request, "annotation/privacy/erased.html", {"done": [item for item in done if item.due]})
    context = {
        "study": None if everywhere else annotators[0].study,
        "prospects": [erasure_preview(item) for item in annotators],
        "account_stays": is_account_needed(user, leaving=None if everywhere else annotators),
        "unclear": request.method == "POST",
    }
    return render(request, "annotation/privacy/erase.html", context, status=422 if request.method == "POST" else 200)
