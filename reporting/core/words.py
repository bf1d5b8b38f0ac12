"""Words of the findings' JSON in the reader's language: reasons, units, names of raters."""

import re
from itertools import count

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

JUDGE = "judge:"
ALL_TIES = gettext_noop("no verdict but ties")
# As they stand in the JSON, each number as {0}, {1} …
PHRASES = (
    gettext_noop("people"),
    gettext_noop("judges (mean)"),
    gettext_noop("comparisons"),
    gettext_noop("instances"),
    gettext_noop("matchups"),
    gettext_noop("pairs"),
    gettext_noop("pairs of ratings"),
    gettext_noop("pairs with a majority"),
    gettext_noop("verdicts beside a majority"),
    gettext_noop("no verdict stands beside a majority of ratings"),
    gettext_noop("pairs of verdicts"),
    gettext_noop("no pair has verdicts of two judges"),
    gettext_noop("no pair has verdicts of both judges"),
    gettext_noop("pairs with two or more ratings"),
    gettext_noop("preferences"),
    gettext_noop("rating sets"),
    gettext_noop("verdicts"),
    gettext_noop("verdicts that are no ties"),
    gettext_noop("ratings"),
    gettext_noop("fewer than two members have verdicts here"),
    gettext_noop("no two members both err on some pairs and not on others"),
    gettext_noop("errors so opposed have no number of independent votes"),
    gettext_noop("no pair has a rating and verdicts of the jury with and without the member"),
    gettext_noop("a jury's verdicts are on pairs, which have no order"),
    gettext_noop("it is not known which text was shown first"),
    gettext_noop("ratings beside others'"),
    gettext_noop("a more separable bin did not pass"),
    gettext_noop("all pairs have one and the same difference in length, which is not nought"),
    gettext_noop("lengths hardly overlap: no adjustment"),
    gettext_noop("a thousand times as many comparisons would not tell them apart"),
    gettext_noop("every rating set lacks a rating, and such sets are left out here"),
    gettext_noop("with fewer than three people on some pair it cannot be told which of them errs"),
    gettext_noop("the judge has no verdict on this study"),
    gettext_noop("the findings are being computed"),
    gettext_noop("a jury asks nothing: the calls behind its verdicts are on its members' cards"),
    gettext_noop("no stress test was made"),
    gettext_noop("the judge was not asked what shows whether it contradicts itself"),
    gettext_noop("no pair with a gold label was judged yet"),
    gettext_noop("identical texts have no verdict before"),
    gettext_noop("no pair has a verdict before and after"),
    gettext_noop("includes ratings by scripted raters: programs, not people"),
    gettext_noop("never compared with another system"),
    gettext_noop("no bins: no selected instance has a separability: it needs two generations or more of each system"),
    gettext_noop("no bins: separability has not been computed"),
    gettext_noop("no bins: each system has one text for an instance, and separability needs two or more"),
    gettext_noop("no compared instance has a separability on the study's scale"),
    gettext_noop("no configuration has exactly one system of the judge's family"),
    gettext_noop("no hidden check was answered"),
    gettext_noop("no instance has ratings of people and a verdict"),
    gettext_noop("looked at where nothing but |C|, the scheme or the aspects differs"),
    gettext_noop("the number of calls is not known for all of these verdicts"),
    gettext_noop("it is the reference"),
    gettext_noop("no pair with a gold label was answered here and by direct"),
    gettext_noop(
        "no pair of the study has a gold label: instances need a gold that names the better system, or scores"
    ),
    gettext_noop("direct was not asked at this endpoint"),
    gettext_noop("it makes no tables"),
    gettext_noop("no table was made yet"),
    gettext_noop("no verdict"),
    gettext_noop("no verdict is looked at"),
    gettext_noop("no pair has the same verdict in both orders"),
    gettext_noop("no pair was asked in both orders"),
    gettext_noop("no judgment with a verdict and a gold label was marked"),
    gettext_noop("this similarity needs a model or a package that pages don't load; a command works it out"),
    gettext_noop("no rating set yet with a consistency and a separability"),
    gettext_noop("not every configuration has its separability computed with one and the same similarity"),
    gettext_noop("no instance has three generations or more of both systems: with two there is nothing to leave out"),
    gettext_noop(
        "the texts are too long to be compared while a page waits; compute separability with fewer samples or cross pairs beside it, and compare"
    ),
    gettext_noop("all rated instances have the same separability"),
    gettext_noop("every rating set is fully consistent, whatever its separability"),
    gettext_noop("every rating set is inconsistent, whatever its separability"),
    gettext_noop("in these ratings consistency does not rise with separability"),
    gettext_noop("the mean consistency is above a half at every separability that was rated"),
    gettext_noop("the mean consistency is below a half at every separability that was rated"),
    gettext_noop("no vote changed beside a table whose judge's verdict is known"),
    gettext_noop("no second vote"),
    gettext_noop("none of these pairs has a gold label"),
    gettext_noop("no other rater voted on these pairs"),
    gettext_noop("no second vote counts yet"),
    gettext_noop("without a table on record as shown there is no verdict to come nearer to"),
    gettext_noop("no time was recorded"),
    gettext_noop("no table whose judge's verdict is known"),
    gettext_noop(
        "there are second votes in one arm only: an effect shows in comparison with another arm, as without a table"
    ),
    gettext_noop("the study asks for one vote on each pair: comparison tables are shown in two-stage studies only"),
    gettext_noop("every alignment of the study is the same, or missing"),
    gettext_noop("fewer than three wordings, or all alike"),
    gettext_noop("no instance has two texts that were compared"),
    gettext_noop("fewer than {0} sets of {1} texts with a preference between each two"),
    gettext_noop("no instance in this bin"),
    gettext_noop("no interval: all instances are alike"),
    gettext_noop("no interval: all instances are alike, or without one of them there is no value"),
    gettext_noop("no interval: fewer than {0} instances"),
    gettext_noop("no interval: fewer than {0} raters"),
    gettext_noop("no interval: no resample of the instances has a value"),
    gettext_noop("no interval: one instance alone connects its group"),
    gettext_noop("no interval yet: it is being computed"),
    gettext_noop("no interval: separated, and finite by the prior only"),
    gettext_noop("no pair has both a verdict and a majority of the people"),
    gettext_noop("no pair has both a verdict and a rating"),
    gettext_noop("no pair has ratings of two people"),
    gettext_noop("no pair has ratings of two people and a verdict"),
    gettext_noop("no pair with exactly one system of the judge's family has a verdict and a rating"),
    gettext_noop("no rating set in this bin"),
    gettext_noop("no rating set with a verdict yet"),
    gettext_noop(
        "with one pair an instance a rating set is one rating, and its consistency says only whether that is a tie"
    ),
    gettext_noop("no selected instance has a separability"),
    gettext_noop("no selected instance has a separability: it needs two generations or more of each system"),
    gettext_noop("no system has been compared"),
    gettext_noop(
        "no test: fewer than {0} instances of a system, one instance alone connects systems, or all are alike"
    ),
    ALL_TIES,
    gettext_noop("no verdict on a pair"),
    gettext_noop("no rating but ties"),
    gettext_noop("no rating is on a pair with verdicts of both judges"),
    gettext_noop("no other person compared these systems"),
    gettext_noop("no other person rated the same pairs"),
    gettext_noop(
        "not every configuration has its separability computed with one and the same similarity, model and draws"
    ),
    gettext_noop("nothing to measure yet"),
    gettext_noop("people are not shown to agree more than by chance"),
    gettext_noop("separability has not been computed"),
    gettext_noop("each system has one text for an instance, and separability needs two or more"),
    gettext_noop("the chance of {0} rated instances is not recorded, or their HITs record different ones"),
    gettext_noop("the families of systems are not given"),
    gettext_noop("several systems share the first place"),
    gettext_noop("not all systems met the same opponents equally often, on which these scores depend"),
    gettext_noop("the family of the judge's model is not given"),
    gettext_noop("the groups were never compared, so that none of their first systems is first of all"),
    gettext_noop("the instances that people rated are no random draw"),
    gettext_noop("undefined: no pair has ratings of two people, or all those ratings are alike"),
    gettext_noop("without this person's ratings other systems are connected by comparisons"),
    gettext_noop("{0} of the {1} instances needed"),
    gettext_noop("{0} of the {1} people needed"),
    gettext_noop("{0} of the {1} people needed rated enough instances"),
    gettext_noop("{0} matchups have no separability and are in no bin"),
    gettext_noop("{0} matchup has no separability and is in no bin"),
    gettext_noop(
        "{0} people gave {1}% of the ratings: intervals over instances alone say nothing of other people, those over "
        "instances and raters do"
    ),
    gettext_noop(
        "a matchup moves a rating by a few points at most: with few matchups ratings are still near their start, in the "
        "order of points won rather than of strength"
    ),
    gettext_noop(
        "the groups were never compared, not even through a third system: systems are ranked within their group, and "
        "nothing is said across groups"
    ),
    gettext_noop(
        "some systems won no point from others: each system of their group was given one tie with a system of strength {0}, "
        "without which no finite strengths are the likeliest; how far apart they are cannot be told"
    ),
)
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def said(text: str) -> str:
    """Translate a phrase of the JSON, or each of several with semicolons between; one that is not in the catalogue stays as it is."""
    if "{" in text or "}" in text:
        return text
    phrase, numbers = without_numbers(text)
    found = _(phrase) if phrase else ""
    if found == phrase and "; " in text:
        first, _semicolon, others = text.partition("; ")
        return f"{said(first)}; {said(others)}"
    return found.format(*numbers)


def without_numbers(text: str) -> tuple[str, list[str]]:
    """Return a phrase with {0}, {1} … for its numbers, and these."""
    numbers: list[str] = NUMBER.findall(text)
    places = count()
    return NUMBER.sub(lambda _found: f"{{{next(places)}}}", text), numbers


def rater_name(name: str) -> str:
    """Return the name of a rater of findings as a page shows it: a judge's without its prefix."""
    return name.removeprefix(JUDGE) if name.startswith(JUDGE) else said(name)
