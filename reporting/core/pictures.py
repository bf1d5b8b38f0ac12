"""Charts as pictures: the response that holds one, and the addresses at which a page finds it."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from reporting.core.charts import WIDTHS, Spec, size_of, to_csv, to_pdf, to_png, to_svg, widened
from reporting.core.themes import THEMES

Picture = dict[str, Any]
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


def width_of(request: HttpRequest) -> str:
    """Return the width in the query, one of WIDTHS: a paper's column by default."""
    width = request.GET.get("width", "column")
    if width not in WIDTHS:
        raise Http404(f"no picture {width} wide")
    return width


def chart_response(spec: Spec, form: str, width: str = "column") -> HttpResponse:
    """Return a chart as svg, png or pdf, its data as csv, or its specification as json."""
    spec = spec if width == "column" else widened(spec, WIDTHS[width])
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


def picture(alt: str, address: Callable[..., str], caption: str = "", spec: Spec | None = None) -> Picture:
    """Return a chart for a page: SVGs for each theme, for phones and for wider screens, and its files.

    address : makes the address of a form, with further parameters in the query; spec : gives the picture its room
    """
    narrow, wide = (
        {theme: address("svg", theme=theme, width=width) for theme in THEMES} for width in ("phone", "screen")
    )
    sizes = [size_of(widened(spec, WIDTHS[width])) if spec else None for width in ("phone", "screen")]
    links = {label: address(form) for label, form in FILES.items()} | {"PDF, 7 in": address("pdf", width="page")}
    return {
        "alt": alt,
        "caption": caption,
        **narrow,
        "size": sizes[0],
        "wide": wide,
        "wide_size": sizes[1],
        "is_rigid": bool(spec and "concat" in spec),
        "links": links,
    }
