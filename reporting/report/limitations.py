"""Limitations of a study, found in its numbers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from annotation.core.counting import counted, number_of
from reporting.core.instance_selection import selection_note
from reporting.core.text import rater_name
from reporting.findings.sections.configurations import EXCLUSIONS, clusters_text
from reporting.findings.sections.data_table import configuration_name

FEW_INSTANCES, FEW_IN_A_BIN = 20, 5
MUCH_BY_ONE, MANY_FAILED = 0.25, 0.05
TIMES_EQUAL = 2  # times the share that each person would have if all gave as many
MOST_LISTED = 5  # of one kind


def limitations_of(findings: Mapping[str, Any], ratings_by_rater: Mapping[str, int]) -> list[str]:
    """Return a sentence for each.

    ratings_by_rater : people's counted ratings, by code
    """
    clusters = clusters_text(findings)
    return [
        *_shortened(_of_configurations(findings)),
        *_of_people(findings, ratings_by_rater),
        *_of_answers(findings.get("provenance", [])),  # findings stored by an earlier version have none
        *([clusters] * bool(clusters)),
    ]


def _shortened(limits: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the sentences on configurations, by kind: of one kind some, and how many there are further."""
    by_kind: dict[str, list[str]] = {}
    for kind, text in limits:
        by_kind.setdefault(kind, []).append(text)
    for texts in by_kind.values():
        yield from texts[:MOST_LISTED]
        if omitted := len(texts[MOST_LISTED:]):
            own = "with its" if omitted == 1 else "each with its"
            yield f"The same holds, {own} own numbers, for {number_of(omitted, 'further configuration')}."


def _of_configurations(findings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each limit with its kind."""
    for configuration in findings["configurations"]:
        name = configuration_name(configuration)
        people = configuration["raters"][0]
        rated = people["mean_consistency"].get("n_instances") or 0
        if people["ratings"] and rated < FEW_INSTANCES:
            yield "instances", f"{name}: people rated only {counted(rated, 'instances')}; intervals are wide."
        small = [bin_ for bin_ in people["bins"] if bin_["instances"] < FEW_IN_A_BIN]
        if small:
            bins = f"{len(small)} of {len(people['bins'])} separability bins {'holds' if len(small) == 1 else 'hold'}"
            yield "bins", f"{name}: {bins} fewer than {FEW_IN_A_BIN} instances."
        if "chosen_note" in configuration:
            yield "chosen", f"{name}: {selection_note(configuration['chosen'])}."
        if "note" in people:
            yield "note", f"{name}: {people['note']}."
        if sets := people["incomplete_rating_sets"]:
            lacking = "rating set lacks" if sets == 1 else "rating sets lack"
            yield "incomplete", f"{name}: {sets} {lacking} a rating."
        for judge in configuration["raters"][1:]:
            failed = judge["asked"] - judge["parsed"]
            if judge["asked"] and failed / judge["asked"] > MANY_FAILED:
                presentations = counted(judge["asked"], "presentations")
                unread = f"“{rater_name(judge['rater'])}” gave no readable verdict on {failed} of {presentations}"
                yield "unread", f"{name}: {unread}."


def _of_answers(provenance: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for item in provenance:
        if item["mixed"]:
            judge = item["judge"]
            yield f"More than one model, build or provider answered for “{judge}”: its verdicts are mixed."
        if cut := item["prompts"]["cut"]:
            counted_prompts = item["prompts"]["counted"]
            prompts, were = ("prompt", "was") if counted_prompts == 1 else ("prompts", "were")
            yield (
                f"{cut} of {counted_prompts} {prompts} of “{item['judge']}” {were} probably cut: "
                "it may not have seen a text."
            )


def _of_people(findings: Mapping[str, Any], ratings_by_rater: Mapping[str, int]) -> Iterator[str]:
    total = sum(ratings_by_rater.values())
    if not total:
        yield "No ratings of people are counted, so nothing here is about what people prefer."
        return
    code, highest = Counter(ratings_by_rater).most_common(1)[0]
    share, equal = highest / total, 1 / sum(count > 0 for count in ratings_by_rater.values())
    if share > 0.5 or (share > MUCH_BY_ONE and share >= TIMES_EQUAL * equal):
        yield f"One person ({code}) gave {share:.0%} of people’s ratings: the numbers are largely theirs."
    left_out: Counter[str] = Counter()
    for configuration in findings["configurations"]:
        left_out.update(configuration["raters"][0]["exclusions"])
    listed = ", ".join(f"{EXCLUSIONS[reason]}: {count}" for reason, count in left_out.items() if count)
    if listed:
        yield f"Ratings of people that are not counted: {listed}."
