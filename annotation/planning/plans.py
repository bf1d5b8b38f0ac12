"""Plans of a study: designs from `analysis.planning.sample_sizes`, for its votes, texts and pay."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from django.db.models import Avg, Count
from django.db.models.functions import Length

from analysis.errors import AnalysisError
from analysis.intervals.jackknife import MIN_CLUSTERS
from analysis.planning.sample_sizes import MIN_INSTANCES, Aim, Design, Prices, cheapest, designs, expected_width
from analysis.planning.stopping import stopped_design
from annotation.core.errors import InvalidSelection, Unacceptable
from annotation.core.version import VERSION
from annotation.models import Generation, Instance, Study
from annotation.planning.pilots import PlannedMeasure, PlanSpec, Variance, variance_of
from annotation.planning.text import notes, sentence
from annotation.studies.configurations import Configuration, configuration, configurations

SAMPLED_INSTANCES = 200
POINTS = 60  # of a curve at most
MOST_SIMULATED = 20_000  # instances of a design whose stop rule is simulated


def plan(study: Study, spec: PlanSpec) -> dict[str, Any]:
    """Return a plan as the JSON object that the command prints.

    Raises: UnknownName for unknown names; InvalidSelection if the configuration is ambiguous; Unacceptable for settings
    that don't fit together, or votes that no plan can be made from.
    """
    _refuse_together(spec)
    named = _configuration(study, spec)
    counted = None if named is None else named.matchups().order_by().annotate(size=Count("pairs"))
    sizes = None if counted is None else Counter(counted.values_list("size", flat=True))  # instances by number of pairs
    try:
        aim = Aim(spec.width, spec.level)
        variance = variance_of(study, named, spec)
        pilot_instances = variance.pilot.get("clusters", variance.pilot["instances"]) if variance.pilot else None
        aim = replace(aim, pilot_instances=pilot_instances)
        rates = _rates(study, named, spec)
        candidates = [
            design
            for pairs, components in variance.components.items()
            for design in designs(
                {pairs: components}, spec.raters, aim=_with_available(aim, sizes, pairs, spec.finite), rates=rates
            )
        ]
    except AnalysisError as error:
        raise Unacceptable(str(error)) from None
    is_unpriced = all(design.cost is None for design in candidates)
    has_judges = any(design.judge_calls for design in candidates)
    source = "stated" if "source_share" in spec.prices else "unknown" if named is None else "texts"
    best, cheapest_with_instances = cheapest(candidates), cheapest(candidates, here=True)
    document = {
        "study": study.slug,
        "version": VERSION,
        "measure": str(spec.measure),
        "width": spec.width,
        "level": spec.level,
        "configuration": _described(named),
        "instances_available": None if sizes is None else sum(sizes.values()),
        "finite_population": spec.finite,
        "variance": _variance_json(variance),
        "costs": {**asdict(rates), "currency": study.currency, "source_share_from": source},
        "designs": [asdict(design) for design in candidates],
        "cheapest_by": "raters' work" if is_unpriced else "pay and judge cost" if has_judges else "pay",
        "cheapest": None if best is None else asdict(best),
        "cheapest_within_study": None if cheapest_with_instances is None else asdict(cheapest_with_instances),
    }
    document |= {"curve": [], "stop_rule": None}
    if headline := cheapest_with_instances or best:
        document["stop_rule"] = _with_stop_rule(variance, headline, spec)
        document["curve"] = _curve(variance, headline, _with_available(aim, sizes, headline.pairs, spec.finite))
    return {"sentence": sentence(document), **document, "notes": notes(document)}


def _with_stop_rule(variance: Variance, design: Design, spec: PlanSpec) -> dict[str, Any] | None:
    """Return the ratings that a design takes if it stops once the preference is decided, for a win rate of 60 % and for equal systems."""
    planned = design.instances or 0
    spread = math.sqrt(variance.components[design.pairs].of_instance_mean(design.pairs, design.raters))
    if spec.measure != PlannedMeasure.WIN_RATE or not MIN_CLUSTERS <= planned <= MOST_SIMULATED or not spread:
        return None
    stopped, of_instance = stopped_design(spread, planned, level=spec.level), design.pairs * design.raters
    return {
        "rate": 0.6,
        "power": stopped.power,
        "ratings": round(stopped.instances * of_instance),
        "ratings_if_equal": round(stopped.equal * of_instance),
        "ratings_without": planned * of_instance,
        "ratings_of_equal_power": round(stopped.fixed * of_instance) if math.isfinite(stopped.fixed) else None,
    }


def _curve(variance: Variance, design: Design, aim: Aim) -> list[dict[str, Any]]:
    """Return the width by number of instances, up to twice those of a design."""
    most = min(2 * (design.instances or 0), aim.population or math.inf)
    step = max(1, round(most / POINTS))
    return [
        {
            "instances": instances,
            "width": expected_width(
                variance.components[design.pairs],
                pairs=design.pairs,
                raters=design.raters,
                instances=instances,
                level=aim.level,
                population=aim.population,
            ),
        }
        for instances in range(MIN_INSTANCES, int(most) + 1, step)
    ]


def _refuse_together(spec: PlanSpec) -> None:
    if spec.measure == PlannedMeasure.CONSISTENCY and len(spec.pairs) > 1:
        raise Unacceptable(
            "Consistency with other pairs is another measure: it falls with each pair added. Plan one N at a time."
        )
    if spec.pilot_batches and spec.assumptions:
        raise Unacceptable("Plan from a pilot or from assumptions, not from both.")


def _configuration(study: Study, spec: PlanSpec) -> Configuration | None:
    """Return the configuration, or None with assumptions if the study doesn't have exactly one."""
    if spec.dataset or spec.systems:
        if not (spec.dataset and spec.systems):
            raise InvalidSelection("Name the data set and both systems.")
        return configuration(study, dataset=spec.dataset, systems=spec.systems)
    existing = configurations(study)
    if len(existing) > 1 and not spec.assumptions:
        listed = "; ".join(str(option) for option in existing)
        raise InvalidSelection(f"Name the data set and both systems; the study has {listed}.")
    return existing[0] if len(existing) == 1 else None


def _with_available(aim: Aim, sizes: Mapping[int, int] | None, pairs: int, finite: bool) -> Aim:
    if sizes is None:
        return replace(aim, finite=finite)
    return replace(aim, available=sum(count for size, count in sizes.items() if size >= pairs), finite=finite)


def _rates(study: Study, named: Configuration | None, spec: PlanSpec) -> Prices:
    """Return the given prices, completed by the study's settings of the same names."""
    own = {price.name: getattr(study, price.name, None) for price in fields(Prices)}
    rates: dict[str, Any] = {
        name: value if isinstance(value, int) else float(value) for name, value in own.items() if value is not None
    }
    if "source_share" not in spec.prices and named is not None:
        ids = list(named.matchups().values_list("instance_id", flat=True)[:SAMPLED_INSTANCES])
        source = Instance.objects.filter(pk__in=ids).aggregate(mean=Avg(Length("source")))["mean"] or 0.0
        texts = Generation.objects.filter(instance__in=ids, system__in=[named.system_a, named.system_b])
        text = texts.aggregate(mean=Avg(Length("text")))["mean"] or 0.0
        total = float(source) + 2 * study.pairs_per_hit * float(text)
        rates["source_share"] = float(source) / total if total else 0.0
    return Prices(**{**rates, **spec.prices})


def _described(named: Configuration | None) -> dict[str, str] | None:
    if named is None:
        return None
    return {"dataset": named.dataset, "system_a": named.system_a.name, "system_b": named.system_b.name}


def _variance_json(variance: Variance) -> dict[str, Any]:
    return {
        "source": "pilot" if variance.pilot else "assumptions",
        "pilot": variance.pilot,
        "assumptions": variance.assumptions,
        "components": [
            {
                "pairs": pairs,
                **asdict(component),
                "truncated": list(component.truncated),
                "merged": [list(group) for group in component.merged],
                "total": component.total,
            }
            for pairs, component in variance.components.items()
        ],
    }
