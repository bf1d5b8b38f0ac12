"""The sentences of the answer: a text for each rule, and how its values are written."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.template.defaultfilters import pluralize
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from annotation.core.percentages import percent
from annotation.core.tables import fixed
from reporting.core.text import counted, level_text, printable
from reporting.findings.judges.verdicts import verdict_text

TEXTS = {
    "all_scripted": "Under “people” only programs rated ({raters}): nothing said about people here is a finding.",
    "scripted": (
        "Under “people” programs rated too, {scripted} of {raters}: what is said about people here is also about them, and no "
        "finding."
    ),
    "being_computed": (
        "Which system people prefer, by more than chance or not, and whether a judge may replace people is being computed. "
        "Until then there are estimates without intervals."
    ),
    "no_people": "No person has rated yet.",
    "judges_alone": "No person has rated yet. The following is what judges say, and not a finding about people.",
    "judge_prefers": (
        "“{judge}” prefers {first} to {second}: it wins {rate} of verdicts ({instances}; a tie counts as half)."
        "{position}{baseline}"
    ),
    "judge_level": (
        "“{judge}” shows no clear preference: {first} wins {rate} of verdicts against {second} ({instances}; a tie "
        "counts as half).{position}{baseline}"
    ),
    "judge_first": (
        "“{judge}” puts {first} first of {systems} systems, by more than chance: it wins {rate} of verdicts "
        "({instances}; a tie counts as half).{position}{baseline}"
    ),
    "judge_leads": (
        "“{judge}” puts {first} first of {systems} systems, but this may be chance: it wins {rate} of verdicts "
        "({instances}; a tie counts as half).{position}{baseline}"
    ),
    "judge_untested": (
        "“{judge}” puts {first} first of {systems} systems; whether by more than chance cannot be told. It wins {rate} "
        "of verdicts ({instances}; a tie counts as half).{position}{baseline}"
    ),
    "judge_unranked": "“{judge}” puts none of {systems} systems first.{position}{baseline}",
    "judge_few": "“{judge}” has too few verdicts: on {instances}. Below {needed} nothing is claimed.{baseline}",
    "judge_all_ties": "“{judge}” gave only ties ({verdicts}), so that no preference is shown.{baseline}",
    "judge_silent": "“{judge}” gave no readable verdict in {asked}.{baseline}",
    "judge_pending": "“{judge}” has not judged yet.{baseline}",
    "judges_more": "Verdicts of further judges are under Rankings: {number} more.",
    "judges_agree": "Two judges give the same verdict on {rate} of pairs ({instances}).{models_alone}",
    "judges_agree_alpha": (
        "Two judges give the same verdict on {rate} of pairs ({instances}; Krippendorff’s α, ordinal: {alpha}, where 0 "
        "is chance).{models_alone}"
    ),
    "judges_apart": "How far judges agree cannot be told: no pair has verdicts of two judges.",
    "rate_differing_pairs": "Next: let people rate some of these pairs, first those on which judges differ ({different} of {pairs} pairs).",
    "rate_pairs": "Next: let people rate some of these pairs, to see whether judges can be believed.",
    "let_model_judge": "Next: let a language model judge these pairs, and people rate some of them.",
    "too_few": "Too little data: people rated {instances}, and below {needed} nothing is claimed.",
    "all_ties": "All {ratings} of people are ties, so that no preference is shown.",
    "preferred": (
        "People prefer {first} to {second}: it wins {rate} of ratings, a tie counting as half "
        "({level} interval {low} to {high}, {instances})."
    ),
    "no_preference": (
        "Whether people prefer {first} or {second} cannot be told: {first} wins {rate} of ratings, a tie "
        "counting as half, and the {level} interval, {low} to {high}, includes one half ({instances})."
    ),
    "first": (
        "Of {systems} systems compared, people prefer {first}: it comes first by more than chance (Bradley–Terry rating "
        "{rating}, {instances}).{inferred}"
    ),
    "leads": (
        "Of {systems} systems compared, {first} comes first with people, but this may be chance: its rank lies between "
        "{rank_low} and {rank_high} (Bradley–Terry rating {rating}, {instances}).{inferred}"
    ),
    "untested": (
        "Of {systems} systems compared, {first} comes first with people; whether by more than chance cannot be told "
        "(Bradley–Terry rating {rating}, {instances}).{inferred}"
    ),
    "unranked": "Which of {systems} systems people prefer cannot be told from the ratings made.",
    "disconnected": (
        "Which of {systems} systems people prefer cannot be told: they form {groups} groups that were never compared "
        "with one another."
    ),
    "length_newly": (
        "Length matters ({p_value}): at equal lengths {first} would be preferred to {second}. It would win {rate} of ratings "
        "({level} interval {low} to {high}), and not {plain} as it does."
    ),
    "length_no_longer": (
        "Length matters ({p_value}): the preference for {first} may be one for the length of texts. At equal lengths it would "
        "win {rate} of ratings ({level} interval {low} to {high}), and not {plain} as it does."
    ),
    "length_turned": (
        "Length matters ({p_value}): at equal lengths the preference turns. {first} would win {rate} of ratings against "
        "{second} ({level} interval {low} to {high}), and not {plain} as it does."
    ),
    "length_moves": (
        "Length matters ({p_value}): at equal lengths {first} would win {rate} of ratings ({level} interval {low} to {high}), "
        "and not {plain} as it does."
    ),
    "length_some": (
        "Length matters in {changed} of {known} configurations. On {dataset}, {first} would win {rate} of ratings against "
        "{second} at equal lengths, and not {plain} as it does ({p_value}, adjusted by Holm’s method)."
    ),
    "length_apart": "Lengths of the two systems’ texts hardly overlap, so win rates are not adjusted for length.",
    "consistency": (
        "A rating set is what one person said of all pairs of one instance. Of {rating_sets}, {full_sets} ({full}) are fully "
        "consistent: the same system on every pair. {part_sets} ({part}) are partly so: one system on some pairs, ties on the "
        "others. {none_sets} ({none}) are mixed: both systems, or ties alone. On {silent} of {instances} all sets are mixed."
        "{incomplete}"
    ),
    "consistency_with_incomplete": (
        "A rating set is what one person said of one instance; {incomplete_sets} that lack a rating may count here. Of "
        "{rating_sets}, {full_sets} ({full}) have the same system wherever there is a rating. {part_sets} ({part}) have one "
        "system and ties. {none_sets} ({none}) have both systems, or ties alone. On {silent} of {instances} all sets are of "
        "this last kind."
    ),
    "all_incomplete": "Consistency cannot be told: each of {rating_sets} lacks a rating, and only complete ones count.",
    "one_pair": (
        "Each input has only one pair of outputs, so that it cannot be told whether raters would prefer the same "
        "system on other outputs."
    ),
    "rises": (
        "People are more consistent where outputs are easy to tell apart: mean consistency is {most} at a separability of "
        "{most_from} to {most_to} ({most_instances}), and {least} at {least_from} to {least_to} ({least_instances})."
    ),
    "agreement": "Two people who rate the same pair agree {rate} of the time ({instances}).",
    "agreement_by_chance": (
        "Two people who rate the same pair agree {rate} of the time ({instances}), which may be no more than chance "
        "(Krippendorff’s α, ordinal: {alpha})."
    ),
    "agreement_above_chance": (
        "Two people who rate the same pair agree {rate} of the time ({instances}; Krippendorff’s α, ordinal: {alpha}, which "
        "Landis and Koch call “{degree}”; 0 is chance, 1 full agreement)."
    ),
    "agreement_unknown": "How far people agree cannot be told: no pair was rated by two people.",
    "no_judge": "No judge has rated, so that nothing can be said about one in place of people.",
    "judge": "“{judge}” as a judge: {verdict}",
    "judges": "Of {judges} judges {may} may replace a single rater at least in part. The nearest to people is “{judge}”: {verdict}",
    "no_judge_may": "None of {judges} judges is shown to be able to replace a single rater. The nearest to people is “{judge}”: {verdict}",
    "judges_alike": (
        "Of {judges} judges {may} may replace a single rater at least in part. The nearest to people, though not by more "
        "than chance, is “{judge}”: {verdict}"
    ),
    "no_judge_may_alike": (
        "None of {judges} judges is shown to be able to replace a single rater. The nearest to people, though not by more "
        "than chance, is “{judge}”: {verdict}"
    ),
    "judges_untested": (
        "Whether any of {judges} judges may replace a rater cannot be told. It takes {needed} with ratings of two people "
        "and a judge’s verdict; there are at most {available}."
    ),
    "more_instances": "About {needed} in all would settle the preference, were the rate to stay at {rate}; there are {instances}.",
    "out_of_reach": (
        "More instances would hardly settle the preference: at a rate of {rate} it would take about {needed}, over {times} "
        "times as many as there are."
    ),
    "level": "Both win equally often, so that no number of further instances can be named that would settle the preference.",
    "more_for_first": "More instances on which {first} meets the systems next to it would tell whether it is first.",
    "more_to_be_first": (
        "About {more} more ratings, spread over systems and further instances as the {made} so far, would tell with a chance of "
        "{chance} that {first} is first, were the differences to stay as they look now."
    ),
    "compare_unmet": (
        "{first} has not been compared with {unmet}: ratings of them on the same instances would tell more directly which is "
        "better than more ratings like those there are."
    ),
    "no_separability": "Separability has not been computed; it would show on which inputs the ratings can tell the systems apart.",
}
Formatter = Callable[[Any], str]


def english(rule: str, values: Mapping[str, Any]) -> str:
    """Return the sentence in English as plain text."""
    sentence = TEXTS[rule].format(**{name: printable(text) for name, text in _texts(values).items()})
    return sentence + _uneven(values)


def on_page(rule: str, values: Mapping[str, Any]) -> SafeString:
    """Return the sentence as HTML. Names from uploaded files are escaped and isolated."""
    texts = {
        name: format_html("<bdi>{}</bdi>", text) if isinstance(values.get(name), str) else text
        for name, text in _texts(values).items()
    }
    sentence = format_html(TEXTS[rule], **texts) if texts else escape(TEXTS[rule])
    return format_html("{}{}", sentence, _uneven(values))


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Write the values of a sentence. Missing ones are left out."""
    texts = {name: WRITTEN.get(name, _plain)(value) for name, value in values.items() if value is not None}
    for name in ("inferred", "incomplete", "position", "baseline", "models_alone"):
        texts.setdefault(name, "")
    for name in ("instances", "silent", "degree", *BINS):
        texts.setdefault(name, "—")  # findings that were kept earlier may lack it
    for name in BRACKETED:
        if values.get(f"{name}_low") is not None:
            low, high = (WRITTEN[name](values[f"{name}_{end}"]) for end in ("low", "high"))
            level = values.get(f"{name}_level")
            ends = f"{level_text(level)} interval {low} to {high}" if level else f"{low}, {high}"
            texts[name] += f" [{ends}]"
    return texts


def _uneven(values: Mapping[str, Any]) -> str:
    """Say why an interval is long for so many instances, as a further sentence."""
    if (number := values.get("effective_n")) is None:
        return ""
    return (
        f" Few instances have most of the verdicts: the interval is as long as with {fixed(number, 1)} of equal size."
    )


def _plain(value: Any) -> str:
    return str(value)


def _counted(of: str, number: int) -> str:
    return counted(number, of)


def _p_value(value: float) -> str:
    """Write a p-value as p = 0.012."""
    smallest = 0.001
    return f"p < {fixed(smallest, 3)}" if value < smallest else f"p = {fixed(value, 3)}"


def _decimal(value: float) -> str:
    return fixed(value, 2)


def _instances(number: int) -> str:
    return f"{number} instance{pluralize(number)}"


def _raters(number: int) -> str:
    return f"{number} rater{pluralize(number)}"


def _rating_sets(number: int) -> str:
    return f"{number} rating set{pluralize(number)}"


def _incomplete(number: int) -> str:
    """Say how many rating sets are left out, as a further sentence."""
    lack = "lacks a rating and is" if number == 1 else "lack a rating and are"
    return f" {number} more {lack} left out."


def _inferred(inferred: Mapping[str, Any]) -> str:
    """Say that the order of systems which never met rests on others, as a further sentence."""
    unmet = inferred["unmet"] or f"{inferred['number']} of the other systems"
    note = ", and was rated on other data sets" if inferred["other_data"] else ""
    return f" It never met {unmet}{note}: their order is inferred through other systems."


def _position(share: Mapping[str, Any]) -> str:
    """Say how often the text shown first is preferred, as a further sentence."""
    bias = "; no position bias is shown" if share["low"] <= 0.5 <= share["high"] else ": a position bias"
    first = f"{percent(share['value'])} [{percent(share['low'])}, {percent(share['high'])}]"
    return f" It prefers the text shown first in {first} of verdicts without ties{bias}."


def _verdict(verdict: Mapping[str, Any]) -> str:
    """Write a judge's verdict without its part on the alternative-annotator test, which the section on judges has."""
    return verdict_text(verdict["rule"], {**verdict["values"], "alternative": {"rule": ""}})


BINS = tuple(f"{bin_}_{key}" for bin_ in ("least", "most") for key in ("from", "to", "instances"))
BRACKETED = ("rate", "alpha", "least", "most")  # values that may have an interval of their own, NAME_low and NAME_high
WRITTEN: dict[str, Formatter] = {
    **dict.fromkeys(("rate", "low", "high", "none", "part", "full", "plain"), percent),
    "level": level_text,
    **dict.fromkeys(("least", "most", "alpha", *(name for name in BINS if "instances" not in name)), _decimal),
    **dict.fromkeys((name for name in BINS if "instances" in name), _instances),
    "rating": lambda value: fixed(value, 0),
    "verdict": _verdict,
    "inferred": _inferred,
    "position": _position,
    "baseline": lambda _is_one: " It is a baseline: a rule without a model.",
    "models_alone": lambda _is_so: " Baselines are left out.",
    **{name: partial(_counted, name) for name in ("ratings", "verdicts")},
    "asked": lambda number: counted(number, "presentations"),
    "incomplete": _incomplete,
    "p_value": _p_value,
    "chance": lambda value: percent(value, 0),
    "instances": _instances,
    "needed": _instances,
    "raters": _raters,
    "rating_sets": _rating_sets,
}
