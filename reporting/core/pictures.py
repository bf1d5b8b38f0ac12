"""Charts as pictures: the response that holds one, and the addresses at which a page finds it."""

import json
from collections.abc import Callable
from functools import lru_cache

from django.http import Http404, HttpRequest, HttpResponse

from reporting.core.charts import Spec, to_csv, to_pdf, to_png, to_svg
from reporting.core.themes import THEMES

Picture = dict[str, str]
FILES = {"SVG": "svg", "PNG": "png", "PDF": "pdf", "CSV": "csv", "Vega-Lite": "json"}  # of a picture, by their names

DRAWN: dict[str, tuple[str, Callable[[Spec], bytes]]] = {
    "svg": ("image/svg+xml", lambda spec: to_svg(spec).encode()),
    "png": ("image/png", to_png),
    "pdf": ("application/pdf", to_pdf),
}


def theme_of(request: HttpRequest) -> str:
    """Return the theme in the query, light by default."""
    theme = request.GET.get("theme", "light")
    if theme not in THEMES:
        raise Http404(f"no picture in {theme}")
    return theme


def chart_response(spec: Spec, form: str) -> HttpResponse:
    """Return a chart as svg, png or pdf, its data as csv, or its specification as json."""
    content = json.dumps(spec, ensure_ascii=False, allow_nan=False)
    if form == "csv":
        response = HttpResponse(to_csv(spec), content_type="text/csv; charset=utf-8")
    elif form == "json":
        response = HttpResponse(content, content_type="application/json")
    else:
        response = HttpResponse(_rendered(content, form), content_type=DRAWN[form][0])
    # An SVG that is opened on its own must not run scripts or load anything.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    return response


@lru_cache(maxsize=64)
def _rendered(spec: str, form: str) -> bytes:
    """Render a specification in JSON. Pictures are cached: rendering takes a fifth of a second."""
    return DRAWN[form][1](json.loads(spec))


def picture(alt: str, address: Callable[..., str]) -> Picture:
    """Return the alternative text and the addresses of a chart: an SVG for each theme, and a PNG.

    address : makes the address of a form, with further parameters in the query
    """
    return {"alt": alt, **{theme: address("svg", theme=theme) for theme in THEMES}, "png": address("png")}
