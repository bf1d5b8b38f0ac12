"""The pictures of the findings page: what each draws, says to those who can't see it, and holds as files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.aggregates import grouped
from reporting.core.charts import Findings, Spec
from reporting.core.pictures import Picture, picture
from reporting.findings.charts import agreement, consistency, rankings, separability, strength

Draw = Callable[[Findings, str], Spec]


@dataclass(frozen=True)
class Kind:
    """One kind of picture.

    section : where it stands on the page: in a section of the study's, or in a part of each configuration's
    draw    : from all findings, or from those of a configuration, for a theme; both hold the `question`, if there are several
    bars    : whether it shows intervals
    """

    section: str
    draw: Draw
    alt: Promise
    caption: Promise
    bars: bool = True


def _pooled(found: Findings, theme: str) -> Spec:
    about = {"question": found["question"]} if "question" in found else {}
    return consistency.pooled_consistency({**found["pooled"], **about}, theme)


OF_STUDY = {
    "preferences": Kind(
        "answer",
        rankings.preferences,
        gettext_lazy(
            "Points with intervals, one for people and one for each judge: how often the better of two systems is preferred, or "
            "the ratings of more systems. The numbers are under Rankings."
        ),
        gettext_lazy("Which system is preferred, by people and by each judge."),
    ),
    "judges-against-people": Kind(
        "answer",
        agreement.judges_against_people,
        gettext_lazy(
            "Two points with intervals for each judge: the share of people's votes that it agrees with, and the share that "
            "people agree on with one another. The numbers are under Judges and people."
        ),
        gettext_lazy("How often each judge agrees with a person, beside how often people agree on the same pairs."),
    ),
    "ratings": Kind(
        "rankings",
        rankings.ratings,
        gettext_lazy(
            "Points with intervals: ratings of systems by people, by Bradley–Terry and Elo, plain and weighted by "
            "separability. The numbers are in the table below."
        ),
        gettext_lazy("Ratings of systems by people, in different ways."),
    ),
    "non-inferiority": Kind(
        "judges",
        agreement.non_inferiority,
        gettext_lazy(
            "Points with intervals for each judge: its agreement with people less that of people with one another, over all "
            "instances and by separability, beside the margin. The numbers are in the table below."
        ),
        gettext_lazy("Agreement of each judge with people, less that of people with one another."),
    ),
    "pooled-consistency": Kind(
        "separability",
        _pooled,
        gettext_lazy(
            "Curve for each rater: mean consistency by separability over all configurations. "
            "The numbers are in the table below."
        ),
        gettext_lazy("Mean consistency over all configurations."),
    ),
    "agreement": Kind(
        "agreement",
        agreement.people_agreement,
        gettext_lazy(
            "Points with intervals for each configuration: how often two people agree, and Krippendorff’s α. "
            "The numbers are in the table below."
        ),
        gettext_lazy("How far people agree with one another."),
    ),
    "position": Kind(
        "position",
        agreement.position,
        gettext_lazy(
            "Points with intervals for each rater: the share of verdicts for the text shown first. "
            "The numbers are in the table below."
        ),
        gettext_lazy("How often the text shown first is preferred."),
    ),
}
OF_CONFIGURATION = {
    "consistency-by-bin": Kind(
        "bins",
        consistency.consistency_by_bin,
        gettext_lazy(
            "Stacked bars for each rater: the share of rating sets at each consistency, "
            "by separability. The numbers are in the table below."
        ),
        gettext_lazy("Share of rating sets at each consistency."),
        bars=False,
    ),
    "mean-consistency": Kind(
        "bins",
        consistency.mean_consistency,
        gettext_lazy(
            "Curve for each rater: mean consistency by separability, with intervals. The numbers are in the table below."
        ),
        gettext_lazy("Mean consistency."),
    ),
    "strength-by-bin": Kind(
        "bins",
        strength.strength_by_bin,
        gettext_lazy(
            "Stacked bars for each rater: the share of rating sets at each preference strength, "
            "by separability. The numbers are in the table below."
        ),
        gettext_lazy("Share of rating sets at each preference strength."),
        bars=False,
    ),
    "separability": Kind(
        "bins",
        separability.separability_histogram,
        gettext_lazy("Bars: how many instances each separability bin holds. The numbers are in the table below."),
        gettext_lazy("Instances by separability."),
        bars=False,
    ),
}
FORMS = {"svg": "SVG", "png": "PNG", "pdf": "PDF", "csv": "CSV", "json": "Vega-Lite"}
KINDS = {**OF_STUDY, **OF_CONFIGURATION}


def by_section(names: Iterable[str], figures: Callable[[str], dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return pictures by the section in which they stand."""
    return grouped((KINDS[name].section, figures(name)) for name in names)


def figure(name: str, configurations: list[Findings], level: float, address: Callable[..., str]) -> dict[str, Any]:
    """Return a picture of the page, with its caption and the addresses of its files.

    configurations : those that it shows; address : makes the address of a form, with further parameters in the query
    """
    kind = KINDS[name]
    people = [one["raters"][0] for one in configurations]
    parts = [str(kind.caption)]
    if kind.bars:
        parts.append(_("Bars: %(level)s%% intervals over instances.") % {"level": f"{level * 100:g}"})
    parts.append(
        _("People: n = %(ratings)s ratings on %(instances)s instances.")
        % {
            "ratings": sum(one["ratings"] for one in people),
            "instances": sum(one["mean_consistency"].get("n_instances") or 0 for one in people),
        }
    )
    if any(one.get("scripted") for one in people):
        parts.append(_("Includes ratings by scripted raters."))
    drawn: Picture = picture(kind.alt, address)
    return {**drawn, "caption": " ".join(parts), "links": {FORMS[form]: address(form) for form in FORMS}}
