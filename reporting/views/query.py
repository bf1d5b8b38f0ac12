"""The filters of findings as a page's address carries them."""

from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from annotation.models import Study
from reporting.measured import Filters, batches_named, similarity_named


def filters_of(study: Study, query: QueryDict) -> Filters:
    """Read `similarity`, `batch` (repeated) and `drop_incomplete`.

    Raises: UnknownName for a similarity that there is not, or a batch that the study doesn't have.
    """
    return Filters(
        similarity=similarity_named(study, query.get("similarity")),
        batches=batches_named(study, [name for name in query.getlist("batch") if name]),
        drop_incomplete=query.get("drop_incomplete", "") in ("1", "on", "true"),
    )


def query_of(filters: Filters, **more: str) -> str:
    """Write filters, and more, as the query of an address."""
    query: list[tuple[str, str]] = list(more.items())
    if filters.similarity:
        query.append(("similarity", filters.similarity))
    query += [("batch", batch.name) for batch in filters.batches or ()]
    if filters.drop_incomplete:
        query.append(("drop_incomplete", "1"))
    return urlencode(query)


def chart_url(study: Study, name: str, form: str, filters: Filters, **more: str) -> str:
    """Return the address of a picture."""
    path = reverse("reporting:chart", kwargs={"slug": study.slug, "name": name, "form": form})
    return f"{path}?{query_of(filters, **more)}"
