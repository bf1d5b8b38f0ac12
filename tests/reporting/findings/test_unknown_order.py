"""Ratings of which nobody knows what was shown first: they count, but for nothing about positions."""

import json
from typing import Any

import pytest

from annotation.models import Study
from annotation.monitoring.batch_annotators import raters_of
from reporting.exports.rows import rating_rows
from reporting.logic.audits import audit_study
from tests.factories import NOON
from tests.reporting.builders import build_configuration, build_study, findings, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
# Ann prefers what is on the left where that is known; of the others A, which stays A whoever assumes an order.
KNOWN = ((-1, True), (1, False), (-1, True), (1, False), (-1, True), (0, True))
UNKNOWN = ((-1, None), (-1, None), (0, None))


def study_of(slug: str, *votes: tuple[int, bool | None]) -> Study:
    study = build_study(slug)
    built = build_configuration(study, instances=len(votes), pairs=1)
    for place, (verdict, a_is_left) in enumerate(votes):
        rate(built, place, "ann", [verdict], a_is_left=[a_is_left])
    return study


def of_people(study: Study) -> dict[str, Any]:
    found = json.loads(json.dumps(findings(study, rounds=20)))
    [rater] = found["configurations"][0]["raters"]
    [person] = found["raters"]
    [pooled] = [one for one in found["pooled"]["preferred_first"] if one["rater"] == "people"]
    return {"rater": rater, "person": person, "pooled": pooled}


def test_findings_leave_unknown_orders_out_of_positions_alone() -> None:
    with_unknown, known = (of_people(study_of(slug, *votes)) for slug, votes in (("a", KNOWN + UNKNOWN), ("b", KNOWN)))

    rater, person = with_unknown["rater"], with_unknown["person"]
    assert (rater["ratings"], sum(rater["counts"].values())) == (9, 9)
    assert rater["shown_first"] == {"first": 5, "tie": 1, "second": 0}
    for name in ("value", "n", "low", "high"):
        assert rater["preferred_first"][name] == known["rater"]["preferred_first"][name]
        assert person["left_share"][name] == known["person"]["left_share"][name]
    assert (person["ratings"], person["sides"]) == (9, {"left": 5, "tie": 1, "right": 0})
    assert with_unknown["pooled"]["n"] == 5


def test_the_audit_leaves_them_out_of_positions_alone() -> None:
    study = study_of("a", *KNOWN, *UNKNOWN)
    [people] = audit_study(study, [None])["raters"]
    assert (people["preferred_first"]["value"], people["preferred_first"]["n"]) == (1.0, 5)


def test_exports_and_the_state_of_a_batch_know_no_side() -> None:
    study = study_of("a", *KNOWN, *UNKNOWN)
    assert [row["shown_first"] for row in rating_rows(study)] == ["a", "b", "a", "b", "a", "a", "", "", ""]
    [row] = raters_of(study.batches.get(), NOON)
    assert (row.votes.votes, row.votes.preferences, row.votes.left_share) == (9, 5, 1.0)
