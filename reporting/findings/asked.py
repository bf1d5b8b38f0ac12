"""What a request asks for: filters by names that are checked, and the addresses that carry them."""

from collections.abc import Sequence
from typing import cast, get_args
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from analysis import similarity
from analysis.ranking.bradley_terry import Ties
from annotation.core.errors import UnknownName
from annotation.models import Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import batches_named
from annotation.studies.questions import question_named
from annotation.studies.separability_runs import names_of
from judging.outcomes.judgments import judges_of
from reporting.findings.inputs import DEFAULT_EPSILON, Filters


def similarity_named(study: Study, name: str | None) -> str | None:
    """Check the name of a similarity, or the label of one of the study's runs; an empty name stands for all.

    Raises: UnknownName listing those that exist.
    """
    if not name or name in similarity.names():
        return name or None
    runs = list(study.separability_runs.all())
    if not any(run.similarity == name or run.is_called(name) for run in runs):
        computed = "; ".join(names_of(runs)) or "none yet"
        known = ", ".join(similarity.names())
        raise UnknownName(f"there is no similarity {name}; known: {known}; computed for {study.slug}: {computed}")
    return name


def judges_named(study: Study, names: Sequence[str]) -> tuple[str, ...] | None:
    """Check the names of judges that have a run on the study; no name stands for all.

    Raises: UnknownName listing those that have.
    """
    if not names:
        return None
    known = judge_names(study)
    if strangers := [name for name in names if name not in known]:
        raise UnknownName(
            f"no judge {', '.join(strangers)} has run on study {study.slug}; those that have: {', '.join(known) or 'none'}"
        )
    return tuple(dict.fromkeys(names))


def judge_names(study: Study) -> list[str]:
    """List the judges that have a run on a study, on any of its questions."""
    asked = (judges_of(study, question=question.number) for question in study.questions)
    return sorted({run.judge.name for runs in asked for run in runs})


def epsilon_named(text: str) -> float:
    """Read the agreement that a judge may lack; empty text stands for the default.

    Raises: UnknownName unless it is a number from 0 to 1.
    """
    try:
        value = float(text or DEFAULT_EPSILON)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UnknownName(f"epsilon is a number from 0 to 1, such as 0.1 for crowd workers, not {text}")
    return value


def ties_named(name: str) -> Ties:
    """Check how Bradley-Terry strengths treat ties; an empty name stands for halves.

    Raises: UnknownName listing the ways.
    """
    for known in get_args(Ties):
        if name in (known, ""):
            return cast(Ties, known)
    raise UnknownName(f"there is no way of ties {name}; there are: {', '.join(get_args(Ties))}")


def filters_of(study: Study, query: QueryDict) -> Filters:
    """Read `similarity`, `batch` and `judge` (repeated), `drop_incomplete`, `ties`, `question`, `epsilon` and `two_way`.

    Raises: UnknownName for an unknown similarity, batch, judge, way of ties or question, or another ε than 0 to 1.
    """
    batches = batches_named(study, [name for name in query.getlist("batch") if name])
    return Filters(
        similarity=similarity_named(study, query.get("similarity")),
        batches=None if batches is None else tuple(batch.name for batch in batches),
        judges=judges_named(study, [name for name in query.getlist("judge") if name]),
        drop_incomplete=query.get("drop_incomplete", "") in ("1", "on", "true"),
        ties=ties_named(query.get("ties", "")),
        question=question_named(study, query.get("question", "")),
        epsilon=epsilon_named(query.get("epsilon", "")),
        two_way=query.get("two_way", "") in ("1", "on", "true"),
    )


def query_of(filters: Filters, **more: str) -> str:
    """Encode filters, and further parameters, as a URL query."""
    query: list[tuple[str, str]] = list(more.items())
    if filters.similarity:
        query.append(("similarity", filters.similarity))
    query += [("batch", name) for name in filters.batches or ()]
    query += [("judge", name) for name in filters.judges or ()]
    if filters.drop_incomplete:
        query.append(("drop_incomplete", "1"))
    if filters.two_way:
        query.append(("two_way", "1"))
    if filters.ties != "half":
        query.append(("ties", filters.ties))
    if filters.question_number != MAIN and filters.question:
        query.append(("question", filters.question.key))
    if filters.epsilon != DEFAULT_EPSILON:
        query.append(("epsilon", str(filters.epsilon)))
    return urlencode(query)


def chart_url(study: Study, name: str, form: str, filters: Filters, **more: str) -> str:
    """Return the URL of a chart."""
    path = reverse("reporting:chart", kwargs={"slug": study.slug, "name": name, "form": form})
    return f"{path}?{query_of(filters, **more)}"
