"""The sentences of the answer, and how their values are written."""

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from annotation.core.counting import counted, fixed, interval_text, printable, rounded_up
from reporting.core.reasons import TOO_FEW
from reporting.findings.judges.verdicts import points_text, range_text

# The result stands between asterisks, then follow its number and condition. A format after a colon is a number of decimals, a
# key of WRITERS, or what is counted.
TEXTS = {
    "no_data": "**No data yet.** Import instances with texts of two systems.",
    "no_ratings": "**No ratings yet.**",
    "being_computed": "**Intervals and tests are being computed.** Until then there are estimates without intervals.",
    "too_few": "**Too few instances to compare systems.** Ratings are on {instances:instances}; {needed} are needed.",
    "all_ties": "**No preference.** All {ratings:ratings} are ties.",
    "preferred": "**{first} is preferred to {second}.** It wins {rate:percent} of ratings ({sample:sample}; a tie counts as half).",
    "no_preference": "**No clear preference.** {first} wins {rate:percent} of ratings ({sample:sample}; a tie counts as half).",
    "first": (
        "**{first} is first of {systems} systems.** It wins {rate:percent} of ratings against {opponents:opponents} ({sample:sample}; a tie counts as half). "
        "The runner-up, {second}, wins {second_rate:percent} (rank {second_rank:rank}; {second_sample:sample}). {settled:places}."
    ),
    "leads": (
        "**No clear winner among {systems} systems.** {first} leads: it wins {rate:percent} of ratings against {opponents:opponents} (rank {rank:rank}; "
        "{sample:sample}; a tie counts as half). The runner-up, {second}, wins {second_rate:percent} (rank "
        "{second_rank:rank}; {second_sample:sample}). {settled:places}."
    ),
    "untested": (
        "**The order of {systems} systems cannot be tested yet.** {first} has the highest estimate: it wins "
        "{rate:percent} of ratings against {opponents:opponents} ({sample:sample}; a tie counts as half). "
        "The runner-up, {second}, wins {second_rate:percent} ({second_sample:sample})."
    ),
    "unranked": "**No clear winner among {systems} systems.** None is first of all.",
    "disconnected": "**No ranking of all {systems} systems.** They form {groups} groups that were never compared with each other.",
    "all_scripted": "All {raters:raters} are programs, so nothing here is a finding about people.",
    "collecting": "Rating continues. Intervals are wider, so that they stay valid however often you look.",
    "scripted": "{scripted} of {raters:raters} are programs, so nothing here is a finding about people alone.",
    "consistency": (
        "**In {share:percent} of {sets:rating sets}, the rater chose the same system on every pair** (a set: one rater’s "
        "ratings of an instance; {instances:instances})."
    ),
    "all_incomplete": "**Consistency is unknown.** Each of {rating_sets:rating sets} lacks a rating.",
    "rises": (
        "**Raters are more consistent where texts are easier to tell apart.** Mean consistency is {most:2} at separability "
        "{most_from:2} to {most_to:2}, and {least:2} at {least_from:2} to {least_to:2}."
    ),
    "agreement": "**Two raters agree on {rate:percent} of pairs** ({instances:instances}).",
    "agreement_alpha": (
        "**Two raters agree on {rate:percent} of pairs** ({instances:instances}; Krippendorff’s {alpha:alpha})."
    ),
    "agreement_not_shown": (
        "**Raters are not shown to agree more than by chance.** Two agree on {rate:percent} of pairs, by chance on {by_chance:share} "
        "({instances:instances}; Krippendorff’s {alpha:alpha})."
    ),
    "agreement_above_chance": (
        "**Raters agree more than by chance.** Two agree on {rate:percent} of pairs ({instances:instances}; Krippendorff’s "
        "{alpha:alpha})."
    ),
    "agreement_by_chance": (
        "**Raters may agree only by chance.** Two agree on {rate:percent} of pairs ({instances:instances}; Krippendorff’s "
        "{alpha:alpha})."
    ),
    "agreement_unknown": "**Agreement is unknown.** No pair was rated by two raters.",
    "judge_may": (
        "**“{judge}” can replace a rater.** It agrees with raters {difference:points} than raters agree with each other "
        "{difference:range}; at most {epsilon:points} would be acceptable."
    ),
    "judge_may_from": (
        "**“{judge}” can replace a rater above separability {from:2}.** Over all instances, it agrees with raters "
        "{difference:points} than raters agree with each other {difference:range}."
    ),
    "judge_worse": (
        "**“{judge}” cannot replace a rater.** It agrees with raters {difference:points} than raters agree with each other "
        "{difference:range}; at most {epsilon:points} would be acceptable."
    ),
    "judge_open": (
        "**Not shown that “{judge}” can replace a rater.** It agrees with raters {difference:points} than raters agree with "
        "each other {difference:range}; at most {epsilon:points} would be acceptable."
    ),
    "judges_worse": (
        "**No judge can replace a rater.** The closest, “{judge}”, agrees with raters {difference:points} than raters agree "
        "with each other {difference:range}; at most {epsilon:points} would be acceptable."
    ),
    "judges_open": (
        "**Not shown that any judge can replace a rater.** The closest, “{judge}”, agrees with raters {difference:points} than "
        "raters agree with each other {difference:range}; at most {epsilon:points} would be acceptable."
    ),
    "judges_chance": (
        "**Judges cannot be tested against raters.** {instances:instances} do not show that raters agree more than by chance "
        "({above_chance:points}, {above_chance:ends})."
    ),
    "judges_untested": (
        "**Whether judges can replace a rater is unknown.** Two ratings and a judge’s verdict are on {instances:instances}; "
        "{needed} are needed."
    ),
    "length_moves": (
        "**Length matters.** At equal lengths {first} would win {rate:percent} of ratings, not {plain:percent} "
        "({change:change}; effect of length {p_value:p})."
    ),
    "length_newly": (
        "**Length hides a preference.** At equal lengths {first} would be preferred: it would win {rate:percent} "
        "of ratings, not {plain:percent} ({change:change}; effect of length {p_value:p})."
    ),
    "length_no_longer": (
        "**The preference may be one for length.** At equal lengths {first} would win {rate:percent} of ratings, "
        "not {plain:percent} ({change:change}; effect of length {p_value:p})."
    ),
    "length_turned": (
        "**At equal lengths the preference turns.** {first} would win {rate:percent} of ratings, not {plain:percent} "
        "({change:change}; effect of length {p_value:p})."
    ),
    "length_some": (
        "**Length matters in {changed} of {known} configurations.** On {dataset}, {first} would win {rate:percent} of ratings "
        "against {second} at equal lengths, not {plain:percent} ({change:change}; effect of length {p_value:p})."
    ),
    "length_alone": (
        "**Ratings follow length alone.** Nearly all are for the longer text, or for the shorter, so preferences at equal lengths "
        "are unknown."
    ),
    "length_apart": "**The effect of length is unknown.** Texts of the two systems hardly overlap in length.",
    "length_few": "**The effect of length is unknown.** Too few instances a pair of systems, with lengths that overlap.",
    "more_instances": (
        "**About {needed:about} instances would settle the preference** with a chance of {chance:share}, if the true win rate were "
        "{rate:percent}; there are {instances}."
    ),
    "out_of_reach": (
        "**{instances:instances} cannot settle the preference.** If the true win rate were {rate:percent}, about {needed:about} would "
        "settle it with a chance of {chance:share}; if it is further from 50%, fewer."
    ),
    "level": "**No number of instances would settle the preference at this rate.** Both systems win equally often.",
    "more_for_first": "**More instances on which {first} meets its neighbours would settle the first place.**",
    "more_to_be_first": (
        "**About {more:about} more ratings would settle the first place** with a chance of {chance:share}, if the differences stay; "
        "there are {made}."
    ),
    "unmet": "**{first} never met {unmet}.** Their order is inferred through other systems; ratings of both together would tell more.",
    "unmet_many": "**{first} never met {number} of the systems.** Their order is inferred through other systems.",
    "no_separability": "**Separability is not computed.** It shows where raters can tell the systems apart.",
    "judge_alone": (
        "**{results:results}.** Only judges have rated, so nothing here is about people. "
        "{first} wins {rate:percent} of verdicts ({instances:instances}; a tie counts as half)."
    ),
    "judges": (
        "**{results:results}.** Only judges have rated, so nothing here is about people. "
        "Verdicts won{rates:winner} ({instances:instances}; a tie counts as half): {rates:rates}."
    ),
    "judge_silent": "**{results:results}.** Only judges have rated, so nothing here is about people.",
    "judges_agree": "**Two judges agree on {rate:percent} of pairs** ({instances:instances}).",
    "judges_agree_alpha": (
        "**Two judges agree on {rate:percent} of pairs** ({instances:instances}; Krippendorff’s {alpha:alpha})."
    ),
    "judges_apart": "**Agreement of judges is unknown.** No pair has verdicts of two judges.",
    "judges_differ": "**{results:results}, unlike raters.** Verdicts won{rates:winner} (a tie counts as half): {rates:rates}.",
    "position_bias": "**Position bias.** “{judge}” chose the text shown first in {share:percent} of verdicts without ties.",
    "no_position_bias": (
        "**Position bias is not shown.** “{judge}” chose the text shown first in {share:percent} of verdicts without ties."
    ),
    "rate_differing_pairs": "**Next, let people rate pairs on which judges differ** ({different} of {pairs:pairs}, on {different_on:instances}).",
    "rate_pairs": "**Next, let people rate some of these pairs,** to see whether judges can be trusted.",
    "let_model_judge": "**Next, let a language model judge these pairs,** and people rate some of them.",
}
# Sentences that follow where a value of this name is given.
CLAUSES = {
    "against": " The first place is tested by Bradley–Terry strengths, with Holm’s correction ({p_value:p} against {against}).",
    "why": " The reason: {why}.",
    "unadjusted": " Tests are adjusted by Holm’s method over {tests:judges}; before it, {unadjusted} showed a preference.",
    "effective_n": " Few instances have most ratings: the interval is as wide as with {effective_n:1} of equal size.",
    "unequal": " Systems met different opponents, so the order (Bradley–Terry) may differ from that of win rates.",
    "equal": " At equal lengths it would win {equal:percent}.",
    "unchanged": " No change at equal lengths is shown in {unchanged:configurations}.",
    "left_out": " Left out, since ratings are missing: {left_out:rating sets}.",
    "with_incomplete": " Missing ratings are ignored.",
    "correction": " {correction}",
    "until": " About {until:instances} would show that it can with a chance of {chance:share}, if the difference stays; there are {instances}.",
    "skewed": " The lower end is that of the test, which allows for instances that differ much.",
    "within": " Independent votes with the same shares would give {independent:percent}, within this interval, so raters are not shown to be more consistent.",
    "below": " Independent votes with the same shares would give {independent:percent}, below this interval.",
    "above": " Independent votes with the same shares would give {independent:percent}, above this interval.",
    "least_alike": " Least often “{judge_a}” and “{judge_b}”: {least_alike:percent}.",
    "kappa": " Its own agreement with people may be chance (κ {kappa:2}).",
    "next_bin": " {next_bin}",
    "alternative": " {alternative}",
    "also": " Of {judges:judges}, {also} can.",
    "alike": " {alike:others} may be as close.",
    "models_alone": " Baselines are left out.",
    "furthest": " Of {furthest:judges}, it is furthest from 50%.",
    "biased": " Biased to the first text: {first} of {tested} judges; to the second: {second} (Bonferroni’s method).",
}
RESULTS = {
    "prefers": "preferred {system} to {other}",
    "first": "put {system} first of {systems} systems",
    "open": "showed no clear preference",
    "ties": "gave only ties",
    "few": "judged too few instances",
    "silent": "gave no readable verdict",
}
MOST_NAMED = 3  # judges


def _points(value: Any) -> str:
    """Write a difference of shares in percentage points; a plain number is the one that is allowed."""
    return points_text(-value if isinstance(value, float) else value["value"])


def _rank(rank: Mapping[str, Any]) -> str:
    """Write the interval of a rank, or the rank if it has none."""
    low, high = rank["low"] or rank["value"], rank["high"] or rank["value"]
    return f"{low}" if low == high else f"{low}–{high}"


def _sample(sample: Mapping[str, int]) -> str:
    """Write the number of instances, with that of clusters where they are not the same."""
    clusters = f" in {counted(sample['clusters'], 'clusters')}" if "clusters" in sample else ""
    return f"{counted(sample['instances'], 'instances')}{clusters}"


def _alpha(alpha: Mapping[str, Any]) -> str:
    without = "too few instances for an interval" if alpha.get("why_code") == TOO_FEW.code else "no interval"
    ends = [abs(alpha[end] or 0) for end in ("low", "high")]
    digits = 2 + sum(
        any(0 < end < least for end in ends) for least in (0.005, 0.0005)
    )  # no end is shown as 0 that is not
    return f"ordinal α {interval_text(alpha, digits)}{f', {without}' if alpha['low'] is None else ''}; 0 is chance"


def _p(value: float) -> str:
    smallest = 0.001
    return f"p < {fixed(smallest, 3)}" if value < smallest else f"p = {fixed(value, 3)}"


def _places(settled: Mapping[str, int]) -> str:
    return f"{settled['places']} of {settled['of']} places {'is' if settled['places'] == 1 else 'are'} settled"


# By the format after a colon.
WRITERS: dict[str, Callable[[Any], str]] = {
    "percent": lambda value: interval_text(value, 1, "%"),
    "share": lambda value: f"{fixed(100 * value, 0)}%",
    "about": lambda number: f"{rounded_up(number):,}",
    "others": lambda number: "One other" if number == 1 else f"{number} others",
    "points": _points,
    "range": range_text,
    "ends": lambda value: range_text(value)[1:-1],
    "change": lambda value: interval_text(value, 1, " points"),
    "rank": _rank,
    "sample": _sample,
    "alpha": _alpha,
    "p": _p,
    "places": _places,
}


class _Writer(Formatter):
    """Plain text of the values in a sentence."""

    def name(self, name: str) -> str:
        return printable(name)

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return self.name(value)
        if not format_spec:
            return f"{value:,}"
        if format_spec.isdecimal():
            return interval_text(value, int(format_spec))
        own = {"results": self.write_results, "winner": self.write_winner, "rates": self.write_rates}
        write = own.get(format_spec) or WRITERS.get(format_spec)
        return write(value) if write else counted(value, format_spec)

    def write_results(self, results: list[dict[str, Any]]) -> str:
        """Write what judges say: their names and what they prefer, or their number where they are many."""
        number = sum(len(result["judges"]) for result in results)
        parts: list[str] = []
        for result in results:
            named = [f"“{self.name(judge)}”" for judge in result["judges"]]
            who = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
            if number > MOST_NAMED:
                who = str(len(named)) if parts else f"{len(named)} of {number} judges"
            parts.append(f"{who} {self.format(RESULTS[result['result']], **result)}")
        return "; ".join(parts)

    def write_winner(self, rates: list[dict[str, Any]]) -> str:
        """Name the system that all rates are of."""
        systems = {rate["system"] for rate in rates}
        return f" by {self.name(systems.pop())}" if len(systems) == 1 else ""

    def write_rates(self, rates: list[dict[str, Any]]) -> str:
        """Write how often each judge's first system wins, of many judges for some."""
        number = len(rates) if len(rates) <= MOST_NAMED else MOST_NAMED - 1
        of_one = bool(self.write_winner(rates))
        listed = [
            f"{'' if of_one else self.name(rate['system']) + ' '}{interval_text(rate, 1, '%')} with “{self.name(rate['judge'])}”"
            for rate in rates[:number]
        ]
        return ", ".join([*listed, *([f"{len(rates) - number} more under Rankings"] * (number < len(rates)))])


class _PageWriter(_Writer):
    """The same as HTML: names from uploaded files are escaped and isolated."""

    def name(self, name: str) -> str:
        return format_html("<bdi>{}</bdi>", name)


def _template(rule: str, values: Mapping[str, Any]) -> str:
    text = TEXTS[rule] + "".join(text for name, text in CLAUSES.items() if name in values)
    if "baselines" in values:
        return f"**No answer yet: only simple rules have judged.** {text.replace('**', '')}"
    return text.replace(" of ratings", " of the scripted raters’ ratings", 1) if "by_programs" in values else text


def english(rule: str, values: Mapping[str, Any]) -> str:
    """Return the sentence in English as plain text."""
    return _Writer().vformat(_template(rule, values).replace("**", ""), (), values)


def on_page(rule: str, values: Mapping[str, Any]) -> SafeString:
    """Return the sentence as HTML, with its result in strong letters."""
    before, *result = escape(_template(rule, values)).split("**")
    template = before + (f"<strong>{result[0]}</strong>{result[1]}" if result else "")
    return mark_safe(_PageWriter().vformat(template, (), values))  # noqa: S308  # the writer escapes names
