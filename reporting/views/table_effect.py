"""What comparison tables change: the page, its picture, and the same numbers as JSON."""

import json
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotation.access import READERS, study_view
from annotation.configurations import configurations
from annotation.models import Study
from reporting.charts import to_png, to_svg
from reporting.measured import batches_named
from reporting.table_effect import effect_of, table_effect
from reporting.table_effect_chart import before_and_after
from reporting.table_effect_reasons import reasons_at, reasons_in
from reporting.table_effect_rows import Look, second_votes
from reporting.themes import THEMES

REASONS_A_PAGE = 50
EVERY_ARM = "@all"  # no arm's name
CHANGES = {
    "wrong_to_right": _("wrong → right"),
    "tie_to_right": _("tie → right"),
    "wrong_to_tie": _("wrong → tie"),
    "right_to_tie": _("right → tie"),
    "tie_to_wrong": _("tie → wrong"),
    "right_to_wrong": _("right → wrong"),
    "wrong_to_wrong": _("wrong → wrong, the other way"),
    "unchanged": _("unchanged"),
}
MOVES = {
    "kept": _("kept"),
    "reversed": _("A → B or B → A"),
    "to_tie": _("to a tie"),
    "from_tie": _("from a tie"),
}
PICTURE_ALT = _("Points with intervals: the mean before and after, for each arm. The numbers are in the table below.")


@require_safe
@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show votes before and after the second stage, arm by arm, and the reasons."""
    look, arm = look_of(study, request.GET), request.GET.get("arm", EVERY_ARM)
    votes = second_votes(study, look)
    found = effect_of(study, look, votes)
    places = reasons_in(votes, None if arm == EVERY_ARM else arm)
    page = Paginator(places.tolist(), REASONS_A_PAGE).get_page(request.GET.get("page"))
    known = configurations(study)
    context = {
        "study": study,
        "found": found,
        "query": query_of(look),
        "changes": _by_kind(found, "changes", CHANGES),
        "moves": _by_kind(found, "moves", MOVES),
        "has_gold": any(one["with_gold"] for one in found["arms"]),
        "picture": _picture(study, look),
        "left_out": {name.replace("_", " "): count for name, count in found["excluded"].items() if count},
        "page": page,
        "reasons": [(one, CHANGES.get(one.change or "")) for one in reasons_at(votes, list(page))],
        "reason_arms": _reason_arms(found, look, arm),
        "reason_query": query_of(look, **({} if arm == EVERY_ARM else {"arm": arm})),
        "datasets": sorted({one.dataset for one in known}),
        "systems": sorted({name for one in known for name in (one.system_a.name, one.system_b.name)}),
        "batches": list(study.batches.for_rating().values_list("name", flat=True)),
    }
    return TemplateResponse(request, "reporting/table_effect.html", context)


@require_safe
@study_view(*READERS)
def as_json(request: HttpRequest, study: Study) -> JsonResponse:
    """Return the numbers that the page shows."""
    found = table_effect(study, look_of(study, request.GET))
    return JsonResponse(found, json_dumps_params={"ensure_ascii": False, "allow_nan": False})


@require_safe
@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, form: str) -> HttpResponse:
    """Draw the picture, or give its specification; `theme` is light or dark."""
    theme = request.GET.get("theme", "light")
    if theme not in THEMES:
        raise Http404(f"no picture in {theme}")
    spec = before_and_after(table_effect(study, look_of(study, request.GET)), theme)
    if form == "png":
        response = HttpResponse(to_png(spec), content_type="image/png")
    elif form == "json":
        content = json.dumps(spec, ensure_ascii=False, allow_nan=False)
        response = HttpResponse(content, content_type="application/json")
    else:
        response = HttpResponse(to_svg(spec), content_type="image/svg+xml")
    # Even when opened by itself the picture may run, load and link to nothing.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


def look_of(study: Study, query: QueryDict) -> Look:
    """Read `dataset`, `system` (once or twice) and `batch` (repeated).

    Raises: UnknownName for a batch that the study doesn't have.
    """
    return Look(
        dataset=query.get("dataset", ""),
        systems=tuple(dict.fromkeys(name for name in query.getlist("system") if name)),
        batches=batches_named(study, [name for name in query.getlist("batch") if name]),
    )


def query_of(look: Look, **more: str) -> str:
    """Write what is looked at, and more, as the query of an address."""
    query = list(more.items())
    if look.dataset:
        query.append(("dataset", look.dataset))
    query += [("system", name) for name in look.systems]
    query += [("batch", batch.name) for batch in look.batches or ()]
    return urlencode(query)


def _picture(study: Study, look: Look) -> dict[str, str]:
    def address(form: str, **more: str) -> str:
        path = reverse("reporting:table-effect-chart", kwargs={"slug": study.slug, "form": form})
        return f"{path}?{query_of(look, **more)}"

    themes = {theme: address("svg", theme=theme) for theme in THEMES}
    return {"alt": str(PICTURE_ALT), **themes, "png": address("png"), "spec": address("json")}


def _by_kind(found: dict[str, Any], group: str, names: dict[str, Any]) -> list[tuple[Any, list[tuple[str, Any]]]]:
    """Return each kind of change with every arm's name, count and share of it."""
    return [(name, [(arm["arm"], arm[group][kind]) for arm in found["arms"]]) for kind, name in names.items()]


def _reason_arms(found: dict[str, Any], look: Look, chosen: str) -> list[dict[str, Any]]:
    """Return what the reasons can be chosen by, with how many there are."""
    total = sum(arm["with_reason"] for arm in found["arms"])
    arms = [(EVERY_ARM, total), *((arm["arm"], arm["with_reason"]) for arm in found["arms"])]
    return [
        {
            "arm": arm,
            "every": arm == EVERY_ARM,
            "count": count,
            "chosen": arm == chosen,
            "query": query_of(look, **({} if arm == EVERY_ARM else {"arm": arm})),
        }
        for arm, count in arms
    ]
