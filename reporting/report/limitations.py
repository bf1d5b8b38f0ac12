"""What a reader must know before believing a study's numbers, found in the numbers themselves."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.studies.sources import SourceCounts
from reporting.core.instance_selection import selection_note
from reporting.core.units import counted
from reporting.core.words import rater_name, said
from reporting.findings.sections.configurations import exclusion_words, repeated_sources_text
from reporting.findings.sections.data_table import configuration_name

FEW_INSTANCES, FEW_IN_A_BIN = 20, 5
MUCH_BY_ONE, MANY_FAILED = 0.25, 0.05
MOST_LISTED = 5  # of one kind


def limitations_of(found: Mapping[str, Any], ratings_by_rater: Mapping[str, int], sources: SourceCounts) -> list[str]:
    """Return a sentence for each.

    ratings_by_rater : people's counted ratings, by code
    sources          : of all the study's instances
    """
    repeated = repeated_sources_text(sources)
    return [
        *_shortened(_of_configurations(found)),
        *_of_people(found, ratings_by_rater),
        *_of_answers(found.get("provenance", [])),  # findings stored by an earlier version have none
        *([repeated] * bool(repeated)),
    ]


def _shortened(limits: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the sentences on configurations, by kind: of one kind some, and how many there are further."""
    by_kind: dict[str, list[str]] = {}
    for kind, text in limits:
        by_kind.setdefault(kind, []).append(text)
    for texts in by_kind.values():
        yield from texts[:MOST_LISTED]
        if further := len(texts[MOST_LISTED:]):
            yield ngettext(
                "The same holds, with its own numbers, for %(n)d further configuration.",
                "The same holds, each with its own numbers, for %(n)d further configurations.",
                further,
            ) % {"n": further}


def _of_configurations(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each limit with its kind."""
    for one in found["configurations"]:
        name = configuration_name(one)
        people = one["raters"][0]
        rated = people["mean_consistency"].get("n_instances") or 0
        if people["ratings"] and rated < FEW_INSTANCES:
            few = _("%(name)s: people rated only %(instances)s; intervals are wide.")
            yield "instances", few % {"name": name, "instances": counted(rated, "instances")}
        small = [bin_ for bin_ in people["bins"] if bin_["instances"] < FEW_IN_A_BIN]
        if small:
            bins = ngettext(
                "%(name)s: %(small)d of %(all)d separability bins holds fewer than %(few)d instances.",
                "%(name)s: %(small)d of %(all)d separability bins hold fewer than %(few)d instances.",
                len(small),
            )
            yield (
                "bins",
                bins
                % {
                    "name": name,
                    "small": len(small),
                    "all": len(people["bins"]),
                    "few": FEW_IN_A_BIN,
                },
            )
        if "chosen_note" in one:
            yield "chosen", f"{name}: {selection_note(one['chosen'])}."
        if "note" in people:
            yield "note", f"{name}: {said(people['note'])}."
        if sets := people["incomplete_rating_sets"]:
            lacking = ngettext(
                "%(name)s: %(sets)d rating set lacks a rating.", "%(name)s: %(sets)d rating sets lack a rating.", sets
            )
            yield "incomplete", lacking % {"name": name, "sets": sets}
        for judge in one["raters"][1:]:
            failed = judge["asked"] - judge["parsed"]
            if judge["asked"] and failed / judge["asked"] > MANY_FAILED:
                unread = _("%(name)s: “%(judge)s” gave no readable verdict on %(failed)d of %(asked)s.")
                yield (
                    "unread",
                    unread
                    % {
                        "name": name,
                        "judge": rater_name(judge["rater"]),
                        "failed": failed,
                        "asked": counted(judge["asked"], "presentations"),
                    },
                )


def _of_answers(provenance: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in provenance:
        if one["mixed"]:
            yield _("More than one model, build or provider answered for “%(judge)s”: its verdicts are mixed.") % one
        if cut := one["prompts"]["cut"]:
            text = ngettext(
                "%(cut)d of %(counted)d prompt of “%(judge)s” was probably cut: it may not have seen a text.",
                "%(cut)d of %(counted)d prompts of “%(judge)s” were probably cut: it may not have seen a text.",
                one["prompts"]["counted"],
            )
            yield text % {"cut": cut, "counted": one["prompts"]["counted"], "judge": one["judge"]}


def _of_people(found: Mapping[str, Any], ratings_by_rater: Mapping[str, int]) -> Iterator[str]:
    total = sum(ratings_by_rater.values())
    if not total:
        yield _("No ratings of people count: nothing here is about what people prefer.")
        return
    code, most = Counter(ratings_by_rater).most_common(1)[0]
    if most / total > MUCH_BY_ONE:
        yield _("One person (%(code)s) gave %(share)s of people’s ratings: the numbers are largely theirs.") % {
            "code": code,
            "share": _("{number}%").format(number=f"{100 * most / total:.0f}"),
        }
    left_out: Counter[str] = Counter()
    for one in found["configurations"]:
        left_out.update(one["raters"][0]["exclusions"])
    words = exclusion_words()
    listed = ", ".join(f"{words[reason]}: {count}" for reason, count in left_out.items() if count)
    if listed:
        yield _("Ratings of people that count nowhere here: %(listed)s.") % {"listed": listed}
