"""What a reader must know before believing a study's numbers, found in the numbers themselves."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reporting.core.instance_selection import selection_note
from reporting.core.units import counted
from reporting.core.words import rater_name, said
from reporting.findings.sections.configurations import exclusion_words
from reporting.findings.sections.data_table import configuration_name

FEW_INSTANCES, FEW_IN_A_BIN = 20, 5
MUCH_BY_ONE, MANY_FAILED = 0.25, 0.05


def limitations_of(found: Mapping[str, Any], ratings_by_rater: Mapping[str, int]) -> list[str]:
    """Return a sentence for each.

    ratings_by_rater : people's counted ratings, by code
    """
    return [*_of_configurations(found), *_of_people(found, ratings_by_rater)]


def _of_configurations(found: Mapping[str, Any]) -> Iterator[str]:
    for one in found["configurations"]:
        name = configuration_name(one)
        people = one["raters"][0]
        rated = people["mean_consistency"].get("n_instances") or 0
        if rated < FEW_INSTANCES:
            yield _("%(name)s: people rated only %(instances)s; intervals are wide.") % {
                "name": name,
                "instances": counted(rated, "instances"),
            }
        small = [bin_ for bin_ in people["bins"] if bin_["instances"] < FEW_IN_A_BIN]
        if small:
            yield ngettext(
                "%(name)s: %(small)d of %(all)d separability bins holds fewer than %(few)d instances.",
                "%(name)s: %(small)d of %(all)d separability bins hold fewer than %(few)d instances.",
                len(small),
            ) % {
                "name": name,
                "small": len(small),
                "all": len(people["bins"]),
                "few": FEW_IN_A_BIN,
            }
        if "chosen_note" in one:
            yield f"{name}: {selection_note(one['chosen'])}."
        if "note" in people:
            yield f"{name}: {said(people['note'])}."
        if sets := people["incomplete_rating_sets"]:
            lacking = ngettext(
                "%(name)s: %(sets)d rating set lacks a rating.", "%(name)s: %(sets)d rating sets lack a rating.", sets
            )
            yield lacking % {"name": name, "sets": sets}
        for judge in one["raters"][1:]:
            failed = judge["asked"] - judge["parsed"]
            if judge["asked"] and failed / judge["asked"] > MANY_FAILED:
                yield _("%(name)s: “%(judge)s” gave no readable verdict on %(failed)d of %(asked)d presentations.") % {
                    "name": name,
                    "judge": rater_name(judge["rater"]),
                    "failed": failed,
                    "asked": judge["asked"],
                }


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
