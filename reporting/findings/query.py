"""The filters of findings as a URL query."""

from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from annotation.models import Study
from annotation.studies.outcomes import batches_named
from reporting.findings.inputs import Filters, judges_named, similarity_named


def filters_of(study: Study, query: QueryDict) -> Filters:
    """Read `similarity`, `batch` and `judge` (repeated) and `drop_incomplete`.

    Raises: UnknownName for an unknown similarity, batch or judge.
    """
    return Filters(
        similarity=similarity_named(study, query.get("similarity")),
        batches=batches_named(study, [name for name in query.getlist("batch") if name]),
        judges=judges_named(study, [name for name in query.getlist("judge") if name]),
        drop_incomplete=query.get("drop_incomplete", "") in ("1", "on", "true"),
    )


def query_of(filters: Filters, **more: str) -> str:
    """Encode filters, and further parameters, as a URL query."""
    query: list[tuple[str, str]] = list(more.items())
    if filters.similarity:
        query.append(("similarity", filters.similarity))
    query += [("batch", batch.name) for batch in filters.batches or ()]
    query += [("judge", name) for name in filters.judges or ()]
    if filters.drop_incomplete:
        query.append(("drop_incomplete", "1"))
    return urlencode(query)


def chart_url(study: Study, name: str, form: str, filters: Filters, **more: str) -> str:
    """Return the URL of a chart."""
    path = reverse("reporting:chart", kwargs={"slug": study.slug, "name": name, "form": form})
    return f"{path}?{query_of(filters, **more)}"
