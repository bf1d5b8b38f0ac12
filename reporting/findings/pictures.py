"""The pictures of the findings page: what each draws, says to those who can't see it, and holds as files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from annotation.core.counting import counted
from annotation.core.database.aggregates import grouped
from annotation.questions.questions import Question
from reporting.core.charts import Findings, Spec, empty_chart, why_empty
from reporting.core.pictures import picture
from reporting.core.raters import PEOPLE
from reporting.core.text import rater_name, subject
from reporting.findings.answer.statements import ONE_PAIR, has_one_pair
from reporting.findings.charts import agreement, judges, rankings, separability
from reporting.findings.charts.common import EVERYONE, SUBJECT

Draw = Callable[[Findings, str], Spec]
IN_CSV = "in the CSV"


@dataclass(frozen=True)
class PictureKind:
    """One kind of picture.

    section : where it stands on the page: in a section of the study's, or in a part of each configuration's
    draw    : from all findings, or from those of a configuration, for a theme; both hold the `question`, if there are several
    shows, numbers : what it shows, and where its numbers are, for those who can't see it
    sets    : whether it is about the consistency of rating sets, which takes two pairs an instance
    """

    section: str
    draw: Draw
    caption: str
    shows: str
    numbers: str = "in the table below"
    sets: bool = False


OF_STUDY = {
    "preferences": PictureKind(
        *("answer", rankings.preferences, "Which system raters prefer."),
        "Points with intervals, one for each rater: how often the better system is preferred, or each of several",
        "under Rankings",
    ),
    "judges-against-people": PictureKind(
        "judges",
        judges.judges_against_people,
        "How often each judge agrees with a person, beside how often people agree on the same pairs.",
        "Two points with intervals for each judge: the share of people's ratings that it agrees with, and the share that people agree on with one another",
    ),
    "ratings": PictureKind(
        *("rankings", rankings.ratings, "Scores of systems by people, in different ways."),
        "Points with intervals: scores of systems by people, by Bradley–Terry and Elo, plain and weighted by separability",
    ),
    "win-matrix": PictureKind(
        "wins",
        rankings.win_matrix,
        "Which system wins against which. Systems are in the order of the first rater’s ranking.",
        "Table of coloured cells: the share of verdicts that each system won against each other one, in percent",
        IN_CSV,
    ),
    "length-adjusted": PictureKind(
        *("lengths", rankings.length_adjusted, "Win rates as they are, and without the effect of length."),
        "Two points with intervals for each configuration, by rater: the win rate as it is, and at equal lengths of the texts",
        IN_CSV,
    ),
    "non-inferiority": PictureKind(
        "judges",
        judges.non_inferiority,
        "Agreement of each judge with people, minus that of people with one another.",
        "Points with intervals for each judge: its agreement with people less that of people with one another, over all instances and by separability, beside the margin",
    ),
    "winning-rates": PictureKind(
        *("judges", judges.winning_rates, "Winning rate ω of each judge in the alternative-annotator test, by ε."),
        "Curve for each judge: the share of people whom the alternative-annotator test lets it replace, by ε",
        IN_CSV,
    ),
    "calibration": PictureKind(
        *("judges", judges.calibration, "People’s votes for the system that a judge prefers, by its probability."),
        "Curve for each judge with probabilities: the share of people's votes for the system that it prefers, by its probability, beside a diagonal",
    ),
    "agreement-by-bin": PictureKind(
        "judges",
        separability.agreement_by_bin,
        "Agreement of people with one another and of each judge with people, over all configurations.",
        "Curve for people and for each judge: the share of people's ratings that agree, by separability",
    ),
    "self-preference": PictureKind(
        "judges",
        judges.self_preference,
        "How often judges prefer their own model’s family, beside people on the same pairs.",
        "Two points with intervals for each judge: how often it prefers the system of its own family, and how often people do on the same pairs",
        IN_CSV,
    ),
    "pooled-consistency": PictureKind(
        *("separability", separability.pooled_consistency, "Mean consistency over all configurations."),
        "Curve for each rater: mean consistency by separability over all configurations",
        sets=True,
    ),
    "pooled-strength": PictureKind(
        *("separability", separability.pooled_strength, "Mean absolute preference strength over all configurations."),
        "Curve for each rater: mean absolute preference strength by separability over all configurations",
        IN_CSV,
        sets=True,
    ),
    "fully-consistent": PictureKind(
        "separability",
        separability.fully_consistent,
        "Share of fully consistent rating sets over all configurations.",
        "Points with intervals for each rater: the share of rating sets whose ratings are all for one system",
        IN_CSV,
        sets=True,
    ),
    "people-confusion": PictureKind(
        "raters",
        agreement.people_confusion,
        "How each person rates where the model of Dawid and Skene says A, tie or B.",
        "Table of coloured cells: how each person rates where the model of Dawid and Skene says A, tie or B, in percent",
    ),
    "agreement": PictureKind(
        *("agreement", agreement.people_agreement, "How far people agree with one another."),
        "Points with intervals for each configuration: how often two people agree, and Krippendorff’s α",
    ),
    "with-more-raters": PictureKind(
        *("agreement", agreement.with_more_raters, "How reliable means over more raters would be."),
        "Two curves by number of raters: Eρ² with intervals, and the standard error of the win rate over 100 instances",
    ),
    "position": PictureKind(
        *("position", agreement.position, "How often the text shown first is preferred."),
        "Points with intervals for each rater: the share of verdicts for the text shown first",
    ),
}
OF_CONFIGURATION = {
    "consistency-by-bin": PictureKind(
        *("bins", separability.consistency_by_bin, "Share of rating sets at each consistency."),
        "Stacked bars for each rater: the share of rating sets at each consistency, by separability",
        sets=True,
    ),
    "mean-consistency": PictureKind(
        *("bins", separability.mean_consistency, "Mean consistency."),
        "Curve for each rater: mean consistency by separability, with intervals",
        sets=True,
    ),
    "matchups": PictureKind(
        *("bins", separability.consistency_of_matchups, "Consistency of each matchup."),
        "Points for each rater: the consistency of each matchup by its separability",
        IN_CSV,
        sets=True,
    ),
    "strength-by-bin": PictureKind(
        *("bins", separability.strength_by_bin, "Share of rating sets at each preference strength."),
        "Stacked bars for each rater: the share of rating sets at each preference strength, by separability",
    ),
    "separability": PictureKind(
        *("bins", separability.separability_histogram, "Instances by separability."),
        "Bars: how many instances each separability bin holds",
    ),
    "confusion": PictureKind(
        "judges",
        agreement.majority_confusion,
        "What raters say where the majority of people says A, tie or B; of people, the other people.",
        "Tables of coloured cells, one for each rater: verdicts where the majority of people says A, tie or B, in percent",
        IN_CSV,
    ),
}
KINDS = {**OF_STUDY, **OF_CONFIGURATION}


def by_section(names: Iterable[str], figures: Callable[[str], dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return pictures by the section in which they stand."""
    return grouped((KINDS[name].section, figures(name)) for name in names)


def draw(
    name: str,
    findings: Findings,
    theme: str = "light",
    *,
    configuration: Findings | None = None,
    question: Question | None = None,
) -> Spec:
    """Return a picture of all findings, or of one of their configurations.

    question : that the findings are about, if the study asks several
    """
    shared: dict[str, Any] = {
        key: findings[key] for key in ("filters", "being_computed", "clusters") if key in findings
    }
    everyone = findings.get(EVERYONE) or list(
        dict.fromkeys(
            rater["rater"] for configuration in findings["configurations"] for rater in configuration["raters"]
        )
    )
    drawn = {**(findings if configuration is None else {**configuration, **shared}), EVERYONE: everyone}
    drawn[SUBJECT] = subject(findings["configurations"])
    if KINDS[name].sets and has_one_pair(findings["configurations"] if configuration is None else [configuration]):
        return empty_chart(KINDS[name].caption, ONE_PAIR, theme)
    spec = KINDS[name].draw(drawn if question is None else {**drawn, "question": question.text}, theme)
    if "being_computed" in findings and why_empty(spec):
        spec = empty_chart(KINDS[name].caption, "it is being computed", theme)
    return spec


def figure(
    name: str, findings: Findings, spec: Spec, configurations: list[Findings], address: Callable[..., str]
) -> dict[str, Any]:
    """Return a picture of the page with what it counts and the addresses of its files, or the reason why it is empty.

    configurations : those that it shows; address : makes the address of a form, with further parameters in the query
    """
    kind, called = KINDS[name], subject(configurations)
    if why := why_empty(spec):
        return {"caption": _called(kind.caption, called), "why": why}
    people = [configuration["raters"][0] for configuration in configurations]
    # Over all configurations an instance counts once, whatever the number of systems compared on it.
    pooled = [row for row in findings["pooled"]["fully_consistent"] if row["rater"] == PEOPLE]
    sets = pooled if name in OF_STUDY else [person["mean_consistency"] for person in people]
    ratings = sum(person["ratings"] for person in people)
    instances = counted(sum(rating_set.get("n_instances") or 0 for rating_set in sets), "instances")
    of_people = f"{called.capitalize()}: n = {counted(ratings, 'ratings')} on {instances}."
    left_out = sum(number for person in people for number in person["exclusions"].values())
    drawn = {value for row in spec["data"]["values"] for value in row.values() if isinstance(value, str)}
    judged = sum(
        rater["ratings"]
        for configuration in configurations
        for rater in configuration["raters"][1:]
        if rater_name(rater["rater"]) in drawn
    )
    with_baselines = " with baselines" if drawn.intersection(findings.get("baselines", ())) else ""
    parts = [
        *([of_people] if ratings else []),
        *([f"Judges{with_baselines}: n = {counted(judged, 'verdicts')}."] if judged else []),
        *([f"Left out: {counted(left_out, 'ratings')}."] if left_out else []),
    ]
    alt = _called(f"{kind.shows}. The numbers are {kind.numbers}.", called)
    return picture(alt, address, " ".join(parts), spec)


def _called(text: str, people: str) -> str:
    """Return a text about people with what the page calls them: programs are no people."""
    if people == "people":
        return text
    called = text.replace("People", people.capitalize()).replace("people", people)
    return called.replace("s’s", "s’").replace("s's", "s'")
