"""A batch where judges disagree: which instances these are, the draw, and the offer on pages."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from annotation.batches.judged import disputed_matchups
from annotation.core.errors import InvalidSelection
from annotation.models import Pair, Study
from annotation.studies.configurations import configurations
from judging.models import Judge, JudgeRun, Judgment
from reporting.core.disputed_pairs import offer_of_disputed
from tests.annotation.batches.test_batches import chosen
from tests.factories import make_batch, make_study
from tests.reporting.builders import findings

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "/studies/study/"


def store() -> Study:
    study = make_study(instances=4, k=1)
    answers = {
        "ann": {"ab": [-1, -1, -1, -1], "ba": [-1, -1, -1, -1]},
        "bob": {"ab": [-1, 1, -1, None], "ba": [1, 1, -1, None]},  # a tie, B, A, nothing
        "tried": {"ab": [1, 1, 1, 1]},
    }
    pairs = list(Pair.objects.order_by("matchup__instance__position"))
    for name, by_order in answers.items():
        tuned = {"candidate_of": "ann"} if name == "tried" else {}
        run = JudgeRun.objects.create(
            study=study, judge=Judge.objects.create(name=name, method="direct", tuned=tuned), status="done"
        )
        Judgment.objects.bulk_create(
            Judgment(
                run=run, pair=pair, order=order, verdict=verdict, status="refused" if verdict is None else "parsed"
            )
            for order, verdicts in by_order.items()
            for pair, verdict in zip(pairs, verdicts, strict=True)
        )
    return study


def test_instances_are_drawn_where_two_judges_disagree(study: Study) -> None:
    instances = list(study.instances.order_by("position"))
    disputed = {instance.instance_id for instance in instances[:2]}
    matchups = disputed_matchups(configurations(study)[0])
    assert {instance.instance_id for instance in instances if instance.matchups.get().pk in matchups} == disputed

    both, one = (make_batch(study, name=f"b{n}", pairs=1, select=f"disagree:{n}") for n in (2, 1))
    assert set(chosen(both)) == disputed
    assert set(chosen(one)) < disputed
    assert (one.selection["spec"], one.selection["pool"], one.selection["drawn_from"]) == ("disagree:1", 4, 2)
    with pytest.raises(InvalidSelection, match="disagree:3"):
        make_batch(study, name="b3", pairs=1, select="disagree:3")


@pytest.mark.parametrize(
    ("bob", "disputed"),
    [
        ({"ab": [-1, 0, 1, -1], "ba": [-1, -1, 1, -1]}, 2),  # A, a tie of two orders, B, A
        ({"ab": [-1, -1, 1, 1], "ba": [-1, -1, None, None]}, 0),
    ],
)
def test_disputed_are_the_pairs_on_which_findings_count_other_verdicts(
    study: Study, bob: dict[str, Any], disputed: int
) -> None:
    for order, verdicts in bob.items():
        judgments = Judgment.objects.filter(run__judge__name="bob", order=order)
        for judgment, verdict in zip(judgments.order_by("pair__matchup__instance__position"), verdicts, strict=True):
            judgment.verdict, judgment.status = verdict, "refused" if verdict is None else "parsed"
            judgment.save()
    counted = findings(study, rounds=1)["judge_agreement"]["different_on"]
    assert (len(disputed_matchups(configurations(study)[0])), counted) == (disputed, disputed)


def test_the_next_step_is_said_once(manager: Client) -> None:
    page = manager.get(f"{PAGE}findings/").text
    assert "Rate 2 pairs" in page
    assert "let people rate" not in page


def test_the_leaderboard_is_of_judges_where_no_person_has_rated(manager: Client) -> None:
    page = manager.get(f"{PAGE}leaderboard/")
    assert len(page.context["raters"]) == 2


def test_rules_that_disagree_are_no_reason_to_rate(study: Study, manager: Client) -> None:
    Judge.objects.update(method="coin")
    assert offer_of_disputed(study) is None
    page = manager.get(f"{PAGE}findings/").text
    assert "Let a language model judge" in page
    assert "Collect ratings" not in page


def test_the_study_offers_them_and_the_form_begins_with_them(study: Study, manager: Client) -> None:
    assert "on which judges disagree" in manager.get(f"{PAGE}findings/").text
    batch = next(step for step in manager.get(PAGE).context["steps"] if step.key == "batch")
    assert str(batch.state) == "next"
    offer = batch.actions[0]
    assert re.findall(r"\d+", offer.label) == ["2"]

    form: Any = manager.get(unescape(offer.address)).context["form"]
    initial = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    assert (initial["how"], initial["number"], initial["pairs"]) == ("disagree", "2", 1)
    sent = {name: value for name, value in initial.items() if value is not None}
    assert manager.post(f"{PAGE}batches/new/", sent).status_code == 302
    assert study.batches.get().hits.count() == 2
    page = manager.get(PAGE)
    assert "disagree" not in page.context["steps"][2].actions[0].address
    assert page.context["steps"][2].key == "batch"
