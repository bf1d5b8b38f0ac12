"""Studies whose separability is known, and the page on it."""

from collections.abc import Sequence
from typing import Any

from django.test import Client
from django.urls import reverse

from annotation.models import Study
from tests.reporting.builders import Built, separate

PAGE = "reporting:separability"
A, TIE, B = -1, 0, 1
STEADY, TORN = [B, B], [A, B]
EVIL = "<script>alert(1)</script> \x1b[31m {{ 7 }}"


def by_run(*separabilities: float | None) -> list[tuple[float | None, float | None, float]]:
    """Return alignments of which these are the separabilities: both systems like themselves by 0.9."""
    return [(None, 0.9, 0.4) if value is None else (0.9, 0.9, 0.9 - value) for value in separabilities]


def spread(built: Built, values: Sequence[float | None], **settings: Any) -> Any:
    return separate(built, by_run(*values), values, **settings)


def only(found: dict[str, Any]) -> dict[str, Any]:
    (one,) = found["configurations"]
    return dict(one)


def people(found: dict[str, Any]) -> dict[str, Any]:
    return dict(only(found)["advice"]["raters"][0])


def body(client: Client, study: Study, **query: Any) -> str:
    answer = client.get(reverse(PAGE, args=[study.slug]), query)
    assert answer.status_code == 200
    return str(answer.content.decode())


def chart_path(study: Study, name: str, form: str = "svg") -> str:
    return reverse("reporting:separability-chart", kwargs={"slug": study.slug, "name": name, "form": form})
