"""Plans of a study: its votes so far, its texts and its pay → `analysis.planning` → what a page and a command show."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.db.models import Avg, Count
from django.db.models.functions import Length
from django.utils.translation import gettext as _

from analysis.errors import AnalysisError
from analysis.planning import Aim, Design, Rates, cheapest, designs
from annotation.configurations import Configuration, configuration, configurations
from annotation.errors import NotChosen, Unacceptable
from annotation.models import Generation, Instance, Study
from annotation.pilots import LARGEST, MOST_NUMBERS, Measure, Variance, Wish, variance_of
from annotation.plan_notes import notes
from annotation.version import VERSION

TEXTS_READ = 200


LEAST_WIDTH = 0.001
LEVELS = (0.5, 0.999)
HIGHEST_PRICE = 1_000_000.0
MOST_OF_PRICES = {"judges": 1000.0, "calls_per_pair": 10_000.0, "source_share": 1.0, "orders": 2.0}


def plan(study: Study, wish: Wish) -> dict[str, Any]:
    """Work out a plan, as the JSON object that the command prints.

    Raises: UnknownName for names the study doesn't have; NotChosen if it is open which configuration is meant;
    Unacceptable for numbers that make no plan, and votes that can't be planned from.
    """
    _refuse_numbers(wish)
    named = _configuration(study, wish)
    sizes = _sizes(named)
    try:
        aim = Aim(wish.width, wish.level)
        variance = variance_of(study, named, wish)
        pilot_instances = variance.pilot["instances"] if variance.pilot else None
        aim = replace(aim, pilot_instances=pilot_instances)
        rates = _rates(study, named, wish)
        found = [
            design
            for pairs, components in variance.components.items()
            for design in designs(
                {pairs: components}, wish.raters, aim=_within(aim, sizes, pairs, wish.finite), rates=rates
            )
        ]
    except AnalysisError as error:
        raise Unacceptable(str(error)) from None
    best, here = cheapest(found), cheapest(found, here=True)
    document = {
        "study": study.slug,
        "version": VERSION,
        "measure": str(wish.measure),
        "width": wish.width,
        "level": wish.level,
        "configuration": _described(named),
        "instances_available": None if sizes is None else sum(sizes.values()),
        "finite_population": wish.finite,
        "variance": _variance_json(variance),
        "costs": {**asdict(rates), "currency": study.currency, "source_share_from": _share_from(named, wish)},
        "designs": [asdict(design) for design in found],
        "cheapest_by": _ranked_by(found),
        "cheapest": None if best is None else asdict(best),
        "cheapest_within_study": None if here is None else asdict(here),
    }
    return {**document, "notes": notes(document)}


def _refuse_numbers(wish: Wish) -> None:
    bounds = {"width": (LEAST_WIDTH, 1.0, wish.width), "level": (*LEVELS, wish.level)}
    bounds |= {
        name: (0.0, MOST_OF_PRICES.get(name, HIGHEST_PRICE), float(min(value, 2 * HIGHEST_PRICE)))
        for name, value in wish.prices.items()
        if isinstance(value, int | float)
    }
    for what, (least, most, given) in bounds.items():
        if not least <= given <= most:  # so that NaN is refused as well
            raise Unacceptable(
                _("%(name)s must be from %(least)s to %(most)s.")
                % {"name": what.replace("_", " "), "least": f"{least:g}", "most": f"{most:,.10g}"}
            )
    for name, numbers in ((_("pairs"), wish.pairs), (_("raters"), wish.raters)):
        if len(numbers) > MOST_NUMBERS or any(not 1 <= number <= LARGEST for number in numbers):
            raise Unacceptable(
                _("%(name)s: give up to %(most)d whole numbers from 1 to %(largest)d.")
                % {"name": name, "most": MOST_NUMBERS, "largest": LARGEST}
            )
    if not wish.raters:
        raise Unacceptable(_("Say how many raters to look at."))
    if wish.measure == Measure.CONSISTENCY and len(wish.pairs) > 1:
        raise Unacceptable(
            _("Consistency with other pairs is another measure: it falls with each pair added. Plan one N at a time.")
        )
    if wish.pilot_batches and wish.assumptions:
        raise Unacceptable(_("Plan from a pilot or from assumptions, not from both."))


def _configuration(study: Study, wish: Wish) -> Configuration | None:
    """Find the configuration that is meant; None where none is needed: assumptions, and no instances or several."""
    if wish.dataset or wish.systems:
        if not (wish.dataset and wish.systems):
            raise NotChosen(_("Name the data set and both systems."))
        return configuration(study, dataset=wish.dataset, systems=wish.systems)
    known = configurations(study)
    if len(known) > 1 and not wish.assumptions:
        listed = "; ".join(str(one) for one in known)
        raise NotChosen(_("Name the data set and both systems; the study has %(listed)s.") % {"listed": listed})
    return known[0] if len(known) == 1 else None


def _sizes(named: Configuration | None) -> dict[int, int] | None:
    """How many of the configuration's instances have how many pairs."""
    if named is None:
        return None
    per_matchup = named.matchups().order_by().annotate(size=Count("pairs")).values_list("size", flat=True)
    sizes: dict[int, int] = {}
    for size in per_matchup:
        sizes[size] = sizes.get(size, 0) + 1
    return sizes


def _within(aim: Aim, sizes: Mapping[int, int] | None, pairs: int, finite: bool) -> Aim:
    if sizes is None:
        return replace(aim, finite=finite)
    return replace(aim, available=sum(count for size, count in sizes.items() if size >= pairs), finite=finite)


def _rates(study: Study, named: Configuration | None, wish: Wish) -> Rates:
    """Put the prices together: what was asked for, else what the study says, else nothing."""
    known: dict[str, Any] = {
        "pairs_per_hit": study.pairs_per_hit,
        "pay_per_hit": None if study.pay_per_hit is None else float(study.pay_per_hit),
        "minutes_per_hit": study.minutes_per_hit,
    }
    if "source_share" not in wish.prices and named is not None:
        known["source_share"] = _source_share(named, study.pairs_per_hit)
    return Rates(**{**known, **wish.prices})


def _source_share(named: Configuration, pairs: int) -> float:
    """Estimate the share of a HIT that is its source text, in characters; of the first instances, which are enough."""
    ids = list(named.matchups().values_list("instance_id", flat=True)[:TEXTS_READ])
    source = Instance.objects.filter(pk__in=ids).aggregate(mean=Avg(Length("source")))["mean"] or 0.0
    texts = Generation.objects.filter(instance__in=ids, system__in=[named.system_a, named.system_b])
    text = texts.aggregate(mean=Avg(Length("text")))["mean"] or 0.0
    whole = float(source) + 2 * pairs * float(text)
    return float(source) / whole if whole else 0.0


def _share_from(named: Configuration | None, wish: Wish) -> str:
    """Say where the source's share of a HIT comes from: stated, of the study's texts, or unknown and so 0."""
    if "source_share" in wish.prices:
        return "stated"
    return "unknown" if named is None else "texts"


def _ranked_by(found: Sequence[Design]) -> str:
    if any(design.cost is not None for design in found):
        return "pay and judge cost" if any(design.judge_calls for design in found) else "pay"
    return "raters' work"


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
                **asdict(found),
                "truncated": list(found.truncated),
                "merged": [list(group) for group in found.merged],
                "total": found.total,
            }
            for pairs, found in variance.components.items()
        ],
    }
