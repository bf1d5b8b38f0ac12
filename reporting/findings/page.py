"""The body of the findings page, and its pictures: kept in the process as long as nothing that they show has changed.

Findings of many configurations are megabytes of JSON, from which a page takes half a second to be made.
"""

import json
import zlib
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef
from django.http import QueryDict
from django.template.loader import render_to_string
from django.urls import reverse

from annotation.models import Rating, Study
from annotation.separability.services import is_separability_possible
from reporting.core.charts import Spec
from reporting.core.disputed_pairs import offer_of_disputed
from reporting.core.kept import Kept
from reporting.core.raters import everyone_of
from reporting.core.text import rater_name
from reporting.findings.charts.common import EVERYONE
from reporting.findings.data.asked import chart_url, query_of, selection_of
from reporting.findings.data.inputs import Filters
from reporting.findings.data.separability_bins import lacks_separability
from reporting.findings.pictures import OF_CONFIGURATION, OF_STUDY, by_section, draw, figure
from reporting.findings.sections import amendments_shown, answer_section, page_sections, plan_section
from reporting.findings.sections.configurations import configuration_section, data_section
from reporting.findings.sections.raters import raters_section
from reporting.findings.sections.titles import Title
from reporting.findings.snapshots import Snapshot

CONFIGURATIONS_PER_PAGE = 10
NEXT_STEPS = (
    "rate_differing_pairs",
    "rate_pairs",
    "let_model_judge",
)  # rules of sentences; the page lists its steps itself
CONFIGURATIONS = "reporting/findings/sections/_configurations.html"
_bodies: Kept[str] = Kept(8)  # half a megabyte each
_specs: Kept[bytes] = Kept(100)  # compressed, since a picture may have ten thousand points


def body(study: Study, filters: Filters, snapshot: Snapshot, query: QueryDict, *, stages: bool) -> str:
    """Return what the page shows of findings, as HTML. It is the same for every reader.

    query : which page of configurations, and by what people are sorted; stages : whether people rate in two stages
    """
    rated = Rating.objects.filter(display__assignment__hit__batch=OuterRef("pk"))
    batches = dict(study.batches.for_rating().values_list("name", Exists(rated)))
    positions = {name: query.get(name, "") for name in ("page", "raters_by")}
    key = (study.pk, query_of(filters), *positions.values())
    version = (*_version(study, snapshot), *batches.items(), stages)
    return _bodies.get(key, version, lambda: _body(study, filters, snapshot, batches, positions, stages))


def picture_spec(
    study: Study,
    filters: Filters,
    snapshot: Snapshot,
    name: str,
    theme: str,
    of: tuple[str, str, str] | None,
) -> Spec | None:
    """Return a picture. `of` names the data set and the systems of its configuration, if it is one of a configuration.

    returns : None if the findings have no such configuration
    """

    def drawn() -> bytes:
        numbers = {**(snapshot.numbers or {}), EVERYONE: everyone_of(study)}
        configuration = None if of is None else _configuration_named(numbers, of)
        if of is not None and configuration is None:
            return b""
        spec = draw(name, numbers, theme, configuration=configuration, question=filters.question)
        return zlib.compress(json.dumps(spec).encode(), 1)

    key = (study.pk, query_of(filters), name, theme, of)
    cached_spec = _specs.get(key, _version(study, snapshot), drawn)
    return json.loads(zlib.decompress(cached_spec)) if cached_spec else None


def _version(study: Study, snapshot: Snapshot) -> tuple[str, str]:
    return study.slug, snapshot.version


def _body(
    study: Study,
    filters: Filters,
    snapshot: Snapshot,
    batches: dict[str, bool],
    positions: dict[str, str],
    stages: bool,
) -> str:
    numbers = snapshot.numbers or {}
    numbers = {**numbers, EVERYONE: everyone_of(study)}
    configurations = numbers["configurations"]
    page = Paginator(configurations, CONFIGURATIONS_PER_PAGE).get_page(positions["page"] or None)
    query = query_of(filters)
    figures = by_section(OF_STUDY, lambda name: figure_of(study, name, numbers, filters))
    sections = page_sections(numbers, figures) if configurations else {"results": {}}
    data = data_section(numbers, batches)
    raters = raters_section(study, numbers, positions["raters_by"], query) | {"figures": figures["raters"]}
    if data["ratings"] and not snapshot.is_first_pass:
        sections["results"]["raters"] = raters
    if configurations:
        title = Title("configurations", {"configurations": len(configurations)})
        sections["results"] |= {"configurations": {"title": title, "main": CONFIGURATIONS}, "data": data}
    context = {
        "study": study,
        "snapshot": snapshot,
        "query": query,
        "page": page,
        "found": numbers,
        "answer": answer_section([row for row in numbers["answer"] if row["rule"] not in NEXT_STEPS]),
        "figures": figures,
        **sections,
        "configurations": [
            configuration_section(
                item,
                at,
                lambda item: by_section(OF_CONFIGURATION, lambda name: figure_of(study, name, numbers, filters, item)),
            )
            for at, item in enumerate(page, page.start_index())
        ],
        "raters": raters,
        "amendments": amendments_shown(numbers["amendments"]),
        "plan": plan_section(numbers) | {"as_planned": _as_planned(study, numbers.get("plan"))},
        "gold": study.instances.exclude(gold=None).count(),
        "next_steps": _next_steps(study, numbers),
        "all_chosen": [row for configuration in configurations for row in configuration["chosen"]],
        "selection": selection_of(numbers["filters"]),
        "stages": stages,
        "data": data,
    }
    return render_to_string("reporting/findings/_body.html", context)


def _as_planned(study: Study, plan: dict[str, Any] | None) -> str:
    """Return the query of the findings that a plan is about, or an empty string where nothing deviates by filters."""
    if not plan or not plan["deviations"]:
        return ""
    content = plan["content"]
    query = [("judge", name) for name in content["judges"]]
    if len(content["systems"]) < study.systems.count():
        query += [("system", name) for name in content["systems"]]
    return urlencode([*query, ("question", content["question"]), ("epsilon", content["epsilon"])])


def figure_of(
    study: Study, name: str, numbers: dict[str, Any], filters: Filters, configuration: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a picture of the study, or of one configuration."""
    named = (
        {}
        if configuration is None
        else {"of": configuration["dataset"], "a": configuration["system_a"], "b": configuration["system_b"]}
    )

    def address(form: str, **more: str) -> str:
        return chart_url(study, name, form, filters, **named, **more)

    spec = draw(name, numbers, configuration=configuration)
    return figure(name, numbers, spec, numbers["configurations"] if configuration is None else [configuration], address)


def _configuration_named(numbers: dict[str, Any], of: tuple[str, str, str]) -> dict[str, Any] | None:
    named = dict(zip(("dataset", "system_a", "system_b"), of, strict=True))
    return next(
        (configuration for configuration in numbers["configurations"] if named.items() <= configuration.items()), None
    )


def _next_steps(study: Study, numbers: dict[str, Any]) -> list[tuple[str, str]]:
    """List what a study still lacks for findings, in the order in which to do it, with the page for it."""
    views = ("annotation:study", "annotation:upload", "judging:judges")
    page, upload, judges = (reverse(view, args=[study.slug]) for view in views)
    configurations = numbers["configurations"]
    if not configurations:
        return [("Import a file with texts of two systems", upload)]
    steps = []
    if any(map(lacks_separability, configurations)) and is_separability_possible(study):
        steps.append(("Compute separability", f"{page}#separability"))
    judges_alone = not any(configuration["raters"][0]["ratings"] for configuration in configurations)
    judging = {rater_name(rater["rater"]) for row in configurations for rater in row["raters"][1:]}
    if judges_alone and judging and judging <= set(numbers["baselines"]):
        return [*steps, ("Let a language model judge the same pairs", judges)]
    if judges_alone:
        collect = "Collect ratings: create a batch and invite people, or import ratings"
        offer = None if study.batches.exists() else offer_of_disputed(study)
        steps.append((offer[0] if offer else collect, f"{page}#step-batch"))
    if not judging:
        steps.append(("Let a judge rate the same pairs", judges))
    return steps
