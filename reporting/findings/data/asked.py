"""What a request asks for: filters by names that are checked, the addresses that carry them, and what they leave of a study."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args
from urllib.parse import urlencode

from django.db.models import Count, Q
from django.http import QueryDict
from django.urls import reverse

from analysis.ranking.bradley_terry import Ties
from analysis.similarity import registry
from annotation.core.errors import UnknownName
from annotation.models import Assignment, Rating, Study
from annotation.models.separability import names_of
from annotation.questions.questions import MAIN
from annotation.studies.configurations import matchup_counts
from annotation.studies.outcomes import batches_named
from annotation.studies.questions import question_named
from judging.outcomes.judgments import judges_of
from reporting.findings.data.inputs import DEFAULT_EPSILON, Filters

MOST_LISTED = 50  # of the names that exist
# Parameters of an address, options of commands: with several values, and switches.
SEVERAL = {
    "batch": "batches",
    "dataset": "datasets",
    "system": "systems",
    "rater": "raters",
    "arm": "arms",
    "judge": "judges",
}
SWITCHES = ("two_way", "with_excluded", "with_incomplete")
NAMED: dict[str, str] = {
    "datasets": "Data sets",
    "systems": "Systems",
    "batches": "Batches",
    "raters": "Raters",
    "arms": "Arms",
    "judges": "Judges",
}
NARROW = 24  # characters of a name for which a field of the usual width has room, beside its number


def similarity_named(study: Study, name: str | None) -> str | None:
    """Check the name of a similarity, or the label of one of the study's runs. An empty name stands for all.

    Raises: UnknownName listing those that exist.
    """
    if not name or name in registry.names():
        return name or None
    runs = list(study.separability_runs.all())
    if not any(run.similarity == name or run.measure.is_called(name) for run in runs):
        computed = "; ".join(names_of(runs)) or "none yet"
        names = ", ".join(registry.names())
        raise UnknownName(f"there is no similarity {name}; known: {names}; computed for {study.slug}: {computed}")
    return name


def judges_named(study: Study, names: Sequence[str]) -> tuple[str, ...] | None:
    """Check the names of judges that have a run on the study. No name stands for all.

    Raises: UnknownName listing those that have.
    """
    if not names:
        return None
    existing = judge_names(study)
    if strangers := [name for name in names if name not in existing]:
        raise UnknownName(
            f"no judge {', '.join(strangers)} has run on study {study.slug}; those that have: "
            f"{', '.join(existing) or 'none'}"
        )
    return tuple(dict.fromkeys(names))


def judge_names(study: Study) -> list[str]:
    """List the judges that have a run on a study, on any of its questions."""
    judges_by_question = (judges_of(study, question=question.number) for question in study.questions)
    return sorted({run.judge.name for runs in judges_by_question for run in runs})


def _one_of(kind: str, name: str, options: Sequence[str]) -> str:
    """Check a name. An empty one stands for the first option."""
    if name and name not in options:
        raise UnknownName(f"there is no {kind} {name}; there are: {', '.join(options)}")
    return name or options[0]


def _known(study: Study, kind: str, names: Sequence[str], existing: Iterable[str]) -> tuple[str, ...] | None:
    """Check names. No name stands for all."""
    if not names:
        return None
    listed = list(dict.fromkeys(existing))
    if strangers := [name for name in names if name not in listed]:
        more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
        have = ", ".join(listed[:MOST_LISTED]) or "none"
        raise UnknownName(f"study {study.slug} has no {kind} {', '.join(strangers)}; it has: {have}{more}")
    return tuple(dict.fromkeys(names))


def arm_names(study: Study) -> list[str]:
    """List the arms in which people rated."""
    work = Assignment.objects.filter(hit__batch__study=study)
    second = Rating.objects.filter(display__assignment__hit__batch__study=study, stage=Rating.Stage.REVISED)
    results = [rows.order_by().values_list("arm", flat=True).distinct() for rows in (work, second)]
    return sorted({arm for arms in results[: 1 + study.is_two_stage] for arm in arms} - {""})


def _is_on(name: str, value: str) -> bool:
    """Read whether a switch is on, as forms and programs write it. An empty value stands for off."""
    written = value.lower()
    if written not in ("1", "on", "true", "0", "off", "false", ""):
        raise UnknownName(f"{name} is 1 or 0, not {value}")
    return written in ("1", "on", "true")


def filters_of(study: Study, query: QueryDict) -> Filters:
    """Read the filters of a request's parameters.

    Raises: UnknownName for an unknown name, more than two systems, another ε than 0 to 1, or a switch that is neither on nor off.
    """
    names = {parameter: [name for name in query.getlist(parameter) if name] for parameter in SEVERAL}
    batches = batches_named(study, names["batch"])
    datasets = study.instances.order_by("dataset").values_list("dataset", flat=True).distinct()
    people = study.annotators.filter(withdrawn_at=None).order_by("code").values_list("code", flat=True)
    similarity_name = similarity_named(study, query.get("similarity"))
    covered = _known(study, "data set", names["dataset"], datasets)
    systems = _known(
        study, "system", names["system"], study.systems.order_by("position").values_list("name", flat=True)
    )
    if systems and len(systems) > 2:
        raise UnknownName(f"a pair has two systems, {len(systems)} are named: {', '.join(systems)}")
    switches: dict[str, Any] = {switch: _is_on(switch, query.get(switch, "")) for switch in SWITCHES}
    text = query.get("epsilon", "")
    try:
        epsilon = float(text or DEFAULT_EPSILON)
    except ValueError:
        epsilon = -1.0
    if not 0 <= epsilon <= 1:
        raise UnknownName(f"epsilon is a number from 0 to 1, such as 0.1 for crowd workers, not {text}")
    return Filters(
        similarity=similarity_name,
        batches=None if batches is None else tuple(batch.name for batch in batches),
        datasets=covered,
        systems=systems,
        raters=_known(study, "rater", names["rater"], people),
        arms=_known(study, "arm", names["arm"], arm_names(study) if names["arm"] else ()),
        judges=judges_named(study, names["judge"]),
        stage=_one_of("stage", query.get("stage", ""), Rating.Stage.values),
        ties=cast(Ties, _one_of("way of ties", query.get("ties", ""), get_args(Ties))),
        question=question_named(study, query.get("question", "")),
        epsilon=epsilon,
        **switches,
    )


def query_of(filters: Filters, **more: str) -> str:
    """Encode filters, and further parameters, as a URL query."""
    query: list[tuple[str, str]] = list(more.items())
    if filters.similarity:
        query.append(("similarity", filters.similarity))
    query += [(parameter, name) for parameter, field in SEVERAL.items() for name in getattr(filters, field) or ()]
    query += [(switch, "1") for switch in SWITCHES if getattr(filters, switch)]
    if filters.stage != Rating.Stage.FIRST:
        query.append(("stage", filters.stage))
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


def selection_of(filters: Mapping[str, Any]) -> list[str]:
    """Describe the part of a study that the filters select, or nothing for all of it."""
    parts = [f"{label}: {', '.join(filters[name])}" for name, label in NAMED.items() if filters[name]]
    if filters["stage"] != Rating.Stage.FIRST:
        parts.append("People’s second ratings, after the comparison table")
    if filters["with_excluded"]:
        parts.append("Ratings that were excluded by hand count too")
    if filters["with_incomplete"]:
        parts.append("Incomplete rating sets count too: the more ratings are missing, the more consistent a set looks")
    return parts


def offered(study: Study, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form offers.

    choices  : those with several values, each with its options as (name, count or None, whether it is chosen)
    stages   : whether there are second votes
    excluded : number of HITs that were excluded manually
    """
    work = Assignment.objects.filter(
        annotator__study=study, purpose=Assignment.Purpose.RATING, state=Assignment.State.SUBMITTED
    )
    rows = (
        work.filter(annotator__withdrawn_at=None)
        .order_by("annotator__code", "arm")
        .values_list("annotator__code", "arm")
        .annotate(hits=Count("pk"), left_out=Count("pk", filter=Q(excluded=True) | Q(annotator__excluded=True)))
    )
    raters: Counter[str] = Counter()
    arms: Counter[str] = Counter()
    excluded = 0
    for code, arm, hits, left_out in rows:
        raters[code] += hits
        arms[arm] += hits
        excluded += left_out
    del arms[""]
    counts: dict[str, Mapping[str, int | None]] = {
        **_instances(study),
        "batches": dict.fromkeys(study.batches.for_rating().values_list("name", flat=True)),
        "raters": raters,
        "arms": dict(sorted(arms.items())),
        "judges": dict.fromkeys(judge_names(study)),
    }
    units = {"datasets": "instances", "systems": "matchups", "raters": "HITs", "arms": "HITs"}
    parameter = {field: name for name, field in SEVERAL.items()}
    choices = [
        {
            "parameter": parameter[field],
            "label": label,
            "unit": units.get(field, ""),
            "has_long_names": any(len(name) > NARROW for name in counts[field]),
            "options": [(name, count, name in (filters[field] or ())) for name, count in counts[field].items()],
        }
        for field, label in NAMED.items()
        if len(counts[field]) > (2 if field == "systems" else 1) or filters[field]
    ]
    return {"choices": choices, "stages": study.is_two_stage, "excluded": excluded}


def _instances(study: Study) -> dict[str, dict[str, int]]:
    """Return the number of instances of each data set, and of matchups of each system."""
    names = dict(study.systems.order_by("position").values_list("pk", "name"))
    systems = Counter(dict.fromkeys(names.values(), 0))
    for (_dataset, a, b), count in matchup_counts(study).items():
        systems.update({names[a]: count, names[b]: count})
    datasets = study.instances.order_by("dataset").values_list("dataset").annotate(Count("pk"))
    return {"datasets": dict(datasets), "systems": dict(systems)}
