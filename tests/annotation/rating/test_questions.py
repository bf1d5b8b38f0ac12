"""Several questions on a pair, strengths, and a reason for each first choice: on the page, in votes, in what is open."""

import re
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.utils import timezone

from annotation.core.errors import FirstVotesLocked, Unacceptable
from annotation.hits.displays import mark_shown
from annotation.models import Assignment, Rating, Study, VoteChange
from annotation.privacy.own_data import data_of
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.store_vote import ClientReport
from annotation.rating.votes import lock_first_votes, save_vote, submit_assignment
from tests.annotation.rating.pages import HTMX, at_hit, send
from tests.factories import (
    NOON,
    add_instances,
    claim,
    criterion,
    instance_rows,
    keys_of,
    make_annotator,
    make_batch,
    make_study,
    signed_in,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SEVERAL = [criterion("faith", strength=True, tie_kinds=True), criterion("style", ties_allowed=False)]


def study_asking(**settings: Any) -> Study:
    """One HIT of two pairs; by default with three questions."""
    study = make_study(instances=1, k=2, **{"criteria": SEVERAL, **settings})
    make_batch(study, raters=1)
    return study


def stored(assignment: Assignment) -> dict[tuple[int, int], str]:
    """Return (place, question) → choice."""
    found = Rating.objects.filter(display__assignment=assignment).select_related("display")
    return {(one.display.position, one.question): one.choice for one in found}


def plain(html: str) -> str:
    return re.sub(r" (?=[.,])", "", " ".join(re.sub(r"<[^>]*>", " ", html).split()))


def part(html: str, form: str) -> str:
    """Return one form of a page."""
    return re.search(rf'<form[^>]*\sid="{form}".*?</form>', html, re.DOTALL).group()  # type: ignore[union-attr]


# The page


def test_each_question_is_a_form_with_its_text_description_and_choices() -> None:
    faith = criterion(
        "faith", text="Is it <b>true</b>?", description="**All** of it. <script>x</script>", strength=True
    )
    client, address, assignment = at_hit(study_asking(criteria=[faith], question_description="All in all."))
    key = keys_of(assignment)[0]

    html = client.get(address).text
    main, further = part(html, f"vote-{key}"), part(html, f"vote-{key}-1")

    assert "1. Which one is better? Pair 1 All in all." in plain(main)
    assert re.findall(r'type="radio"[^>]*value="([^"]+)"', main) == ["left", "none", "right"]
    assert "2. Is it &lt;b&gt;true&lt;/b&gt;? Pair 1" in plain(further)
    assert "<strong>All</strong> of it." in further
    assert "<script>x" not in further
    assert f'aria-describedby="about-{key}-1"' in further
    assert re.findall(r'value="([^"]+)"\s+id="choice', further) == [
        *("left-much", "left-slightly", "none", "right-slightly", "right-much")
    ]
    assert "data-times" not in further
    assert len(set(re.findall(r'\sid="([^"]+)"', html))) == len(re.findall(r'\sid="([^"]+)"', html))


def test_one_plain_question_is_shown_without_a_number_and_a_reason() -> None:
    client, address, assignment = at_hit(study_asking(criteria=[]))
    html = client.get(address).text

    assert "question" not in plain(html).lower().replace("which one", "")
    assert html.count("data-pair=") == 2
    assert not re.search(
        r'data-question|data-name|data-reason|name="question"|class="about|<kbd class="for-keys"', html
    )
    assert part(html, f"vote-{keys_of(assignment)[0]}").count('<fieldset class="choices"') == 1


def test_the_names_of_the_sides_change_with_the_layout_in_graded_choices_too() -> None:
    client, address, _ = at_hit(study_asking(criteria=[], strength=True))

    html = client.get(address).text

    assert '<span class="if-beside">Left, much</span><span class="if-stacked">Top, much</span>' in html
    own = make_study("own", instances=1, strength=True, label_left="Ours", label_right="Theirs")
    make_batch(own, raters=1)
    client, address, _ = at_hit(own, "second")
    assert "<bdi>Ours, slightly</bdi>" in client.get(address).text


# Votes


@pytest.mark.engine
def test_every_question_has_its_own_choice_version_and_conflict() -> None:
    client, address, assignment = at_hit(study_asking())
    key = keys_of(assignment)[0]
    sent = {"pair_key": key, "question": 1, "page": "one", "version": 0, "source_opened": "true"}

    answer = send(client, address, "vote", choice="both-bad", **sent)
    assert answer.status_code == 200
    assert re.findall(r'id="(answer-[^"]+)"', answer.text) == [f"answer-{key}-1"]
    assert "0 of 2 rated. Still open: pair 1 (questions 1, 3), pair 2." in plain(answer.text)
    main = {"pair_key": key, "choice": "left", "page": "two", "version": 0, "reason": "Not asked for."}
    assert send(client, address, "vote", **main).status_code == 200
    assert Rating.objects.for_question(0).get().reason == ""

    stale = send(client, address, "vote", **{**sent, "choice": "left-much", "page": "two"})
    assert stale.status_code == 409
    assert "that stays" in part(stale.text, f"vote-{key}-1")
    assert re.search(r'name="version"\s+value="1"', stale.text)
    assert (
        send(client, address, "vote", **{**sent, "choice": "left-much", "page": "two", "version": 1}).status_code == 200
    )
    assert stored(assignment) == {(0, 0): "left", (0, 1): "left-much"}
    assert all(one.source_opened for one in VoteChange.objects.for_question(1))


@pytest.mark.parametrize(
    ("question", "choice"), [(3, "left"), (9, "left"), (-1, "left"), ("x", "left"), (2, "none"), (1, "left")]
)
def test_a_question_or_choice_that_is_not_offered_is_refused_at_the_card(question: object, choice: str) -> None:
    client, address, assignment = at_hit(study_asking())

    refused = send(client, address, "vote", pair_key=keys_of(assignment)[0], question=question, choice=choice)

    assert refused.status_code == 422
    assert re.search("not asked|not one of the choices", refused.text)
    assert stored(assignment) == {}


def test_times_are_the_pairs_and_none_is_lost_when_a_criterion_is_answered_first() -> None:
    assignment = claim(make_annotator(study_asking()))
    mark_shown(assignment=assignment, at=NOON)
    key, other = keys_of(assignment)

    def vote(key: str, question: int, seconds: int, **report: float) -> Rating:
        at = NOON + timedelta(seconds=seconds)
        choice = "left-much" if question == 1 else "left"
        sent = ClientReport(**report)
        return save_vote(assignment=assignment, pair_key=key, question=question, choice=choice, at=at, report=sent)

    criterion_first = vote(key, 1, 10, active_seconds=8, wall_seconds=10)
    assert (criterion_first.active_seconds, criterion_first.wall_seconds) == (None, None)
    main = vote(key, 0, 30)  # as without scripts
    assert main.wall_seconds == 30
    vote(key, 2, 40)
    assert vote(other, 0, 50).wall_seconds == 20
    vote(other, 1, 55)
    sent = ClientReport(active_seconds=25, wall_seconds=28)
    at = NOON + timedelta(seconds=60)
    reported = save_vote(assignment=assignment, pair_key=other, choice="right", at=at, report=sent)
    assert (reported.active_seconds, reported.wall_seconds) == (25, 28)


def test_an_early_submit_names_what_is_open() -> None:
    client, address, assignment = at_hit(study_asking(first_reason="required"))
    first, second = keys_of(assignment)
    for question, choice in enumerate(("left", "left-much", "right")):
        send(client, address, "vote", pair_key=first, question=question, choice=choice)
    send(
        client, address, "vote", pair_key=second, question=0, choice="none", reason="Both say the same, in other words."
    )

    early = client.post(f"{address}submit/")

    assert early.status_code == 422
    told = "pair 1 (reason of 20 characters or more), pair 2 (questions 2, 3)."
    assert f"Please rate every pair first. Still open: {told}" in plain(early.text)
    assert re.findall(r'<a href="#([^"]+)">pair', early.text) == [f"reason-{first}", f"vote-{second}-1"]
    assert f"Still open: {told}" in plain(send(client, address, "vote", pair_key=first, question=0, choice="left").text)


# Reasons


@pytest.mark.engine
def test_a_reason_is_saved_with_the_main_choice_and_stays_when_that_changes() -> None:
    client, address, assignment = at_hit(study_asking(first_reason="optional"))
    key = keys_of(assignment)[0]

    def why() -> list[tuple[int, str, str]]:
        found = Rating.objects.select_related("display").order_by("question")
        return [(one.question, one.choice, one.reason) for one in found]

    send(client, address, "vote", pair_key=key, choice="left", reason=" Shorter,\r\nand true.\x00 ")
    send(client, address, "vote", pair_key=key, question=2, choice="left", reason="not for this one")
    assert why() == [(0, "left", "Shorter,\nand true."), (2, "left", "")]
    changed = send(client, address, "vote", pair_key=key, choice="right", version=1)
    assert why()[0] == (0, "right", "Shorter,\nand true.")
    assert 'data-reason="Shorter,\nand true."' in changed.text
    send(client, address, "vote", pair_key=key, choice="right", reason="Longer.", version=2)
    assert why()[0] == (0, "right", "Longer.")
    page = client.get(address).text
    assert re.search(rf'<textarea id="reason-{key}"[^>]*>Longer.</textarea>', page)
    assert "Why? (optional)" in page
    too_long = send(client, address, "vote", pair_key=key, choice="left", reason="x" * 5001, version=3)
    assert (too_long.status_code, why()[0]) == (422, (0, "right", "Longer."))


def test_no_preference_needs_its_reason_before_the_first_votes_are_locked() -> None:
    study = study_asking(
        criteria=[], first_reason="required", first_reason_min_length=5, protocol="two-stage", arms=["none"]
    )
    client, address, assignment = at_hit(study)
    for key in keys_of(assignment):
        send(client, address, "vote", pair_key=key, choice="none", reason="Same")
    early = client.post(f"{address}lock/")
    assert early.status_code == 422
    assert "pair 1 (reason of 5 characters or more), pair 2 (reason of 5 characters or more)." in plain(early.text)
    for key in keys_of(assignment):
        send(client, address, "vote", pair_key=key, choice="none", reason="Alike", version=1)
    assert client.post(f"{address}lock/").status_code == 302
    assert "The reason for your first choice: “Alike”" in plain(client.get(address).text)


# The second stage


def test_a_change_of_strength_alone_is_a_change_and_needs_a_reason() -> None:
    study = study_asking(strength=True, protocol="two-stage", arms=["none"])
    client, address, assignment = at_hit(study)
    for key in keys_of(assignment):
        for question, choice in enumerate(("left-slightly", "both-good", "left")):
            save_vote(assignment=assignment, pair_key=key, question=question, choice=choice, at=timezone.now())
    lock_first_votes(assignment=assignment, at=timezone.now())
    assignment.refresh_from_db()
    display = reveal(assignment=assignment, at=timezone.now())
    html = client.get(address).text
    assert html.count('<form class="second"') == 1
    assert "Keep: Left, slightly Top, slightly" in plain(html)
    assert plain(html).count("Change to:") == 4
    assert "Which one has more" not in html  # the further questions

    def decide(choice: str, reason: str = "") -> Rating:
        return save_second_vote(
            assignment=assignment, pair_key=display.pair.key, choice=choice, reason=reason, at=timezone.now()
        )

    with pytest.raises(Unacceptable, match="Please say why"):
        decide("left-much")
    assert decide("left-slightly").strength == 1
    assert decide("left-much", "It is clearly better on a second look.").strength == 2
    with pytest.raises(FirstVotesLocked):
        save_vote(assignment=assignment, pair_key=display.pair.key, question=1, choice="left-much", at=timezone.now())
    assert "changed your choice from Left, slightly Top, slightly to Left, much Top, much" in plain(
        client.get(address).text
    )


# Without scripts


def everything(html: str, **answers: str) -> dict[str, str]:
    """Fill in the one form of a page without scripts."""
    fields = dict(re.findall(r'name="(version-[^"]+)"\s+form="end-of-hit"\s+value="(\d+)"', html))
    chosen = re.findall(r'name="(choice-[^"]+)" form="end-of-hit"\s+value="([^"]+)"\s+id="[^"]+"\s+checked', html)
    reasons = re.findall(r'name="(reason-[^"]+)" form="end-of-hit"[^>]*>([^<]*)<', html)
    return {**fields, **dict(chosen), **dict(reasons), "page": "scriptless", **answers}


def test_every_question_and_reason_is_in_the_one_form_and_nothing_is_lost_by_a_refusal() -> None:
    client, address, assignment = at_hit(study_asking(first_reason="required"))
    first, second = keys_of(assignment)
    html = client.get(address).text
    fields = everything(html)
    versions = [f"version-{key}{n}" for key in (first, second) for n in ("", ".1", ".2")]
    assert sorted(fields) == sorted(["page", *versions, f"reason-{first}", f"reason-{second}"])
    reason = "It leaves out nothing of weight."

    given = {f"choice-{first}": "left", f"choice-{first}.1": "both-bad"}
    refused = client.post(
        f"{address}submit/", everything(html, **given, **{f"reason-{key}": reason for key in (first, second)})
    )

    assert refused.status_code == 422
    assert stored(assignment) == {(0, 0): "left", (0, 1): "both-bad"}
    assert Rating.objects.for_question(0).get().reason == reason
    assert re.search(rf'<textarea id="reason-{second}"[^>]*>{reason}</textarea>', refused.text)
    assert "Please choose one of the answers." in part(refused.text, f"vote-{second}")

    missing = client.post(f"{address}vote/", everything(refused.text, pair_key=first, **given))
    assert "Please choose one of the answers." in part(missing.text, f"vote-{first}-2")
    rest = {f"choice-{second}": "none", f"reason-{second}": reason, f"choice-{second}.1": "left-slightly"}
    done = client.post(
        f"{address}submit/",
        everything(missing.text, **rest, **{f"choice-{first}.2": "right", f"choice-{second}.2": "left"}),
    )
    assert done.status_code == 302
    answers = ("left", "both-bad", "right", "none", "left-slightly", "left")
    assert stored(assignment) == dict(zip(product(range(2), range(3)), answers, strict=True))


def test_pairs_that_come_together_share_their_time_whatever_number_of_questions_they_have() -> None:
    client, address, assignment = at_hit(study_asking())
    first, second = keys_of(assignment)
    html = client.get(address).text
    assignment.displays.update(shown_at=timezone.now() - timedelta(seconds=90))

    given = {f"choice-{first}": "left", f"choice-{second}": "left"}
    given |= {f"choice-{first}.1": "both-bad", f"choice-{first}.2": "left"}
    client.post(f"{address}submit/", everything(html, **given))

    seconds = {
        (one.display.position, one.question): one.wall_seconds for one in Rating.objects.select_related("display")
    }
    assert seconds[0, 0] == pytest.approx(seconds[1, 0])
    assert 45 <= (seconds[0, 0] or 0) < 60
    assert (seconds[0, 1], seconds[0, 2]) == (None, None)


@pytest.mark.engine
def test_an_old_first_page_makes_no_second_votes_of_further_questions() -> None:
    client, address, assignment = at_hit(study_asking(protocol="two-stage", arms=["none"]))
    html = client.get(address).text
    for key in keys_of(assignment):
        for question, choice in enumerate(("left", "both-good", "left")):
            save_vote(assignment=assignment, pair_key=key, question=question, choice=choice, at=timezone.now())
    client.post(f"{address}lock/")
    client.get(address)
    key = keys_of(assignment)[0]
    client.post(f"{address}submit/", everything(html, **{f"choice-{key}.2": "left"}))
    assert not Rating.objects.filter(stage="revised").exists()


# Elsewhere


def test_progress_and_own_data_name_every_choice() -> None:
    study = study_asking(strength=True)
    annotator = make_annotator(study)
    assignment = claim(annotator, timezone.now())
    key = keys_of(assignment)[0]
    for question, choice in enumerate(("right-much", "both-good", "left")):
        save_vote(assignment=assignment, pair_key=key, question=question, choice=choice, at=timezone.now())

    page = plain(signed_in(annotator).get("/rate/progress/").text)
    assert "Right, much Bottom, much · Both are good · Left Top, – · – · –" in page
    pair = data_of([annotator], annotator.user)["studies"][0]["hits"][0]["pairs"][0]
    named = [("overall", "right-much"), ("faith", "both-good"), ("style", "left")]
    assert [(one["question"], one["choice"]) for one in pair["choices"]] == named
    assert [(one["question"], one["choice"]) for one in pair["history"]] == named


@pytest.mark.engine
def test_a_qualification_asks_every_question_and_scores_the_main_one() -> None:
    study = make_study(instances=0, criteria=SEVERAL, strength=True)
    row = instance_rows(instances=1, k=2)[0]
    add_instances(study, [replace(row, gold={"better": "alpha"})])
    make_batch(study, purpose="qualification")
    annotator = make_annotator(study)
    assignment = claim(annotator)
    for display in assignment.displays.select_related("pair"):
        best = "left-slightly" if display.a_is_left else "right-much"
        for question, choice in enumerate((best, "both-bad", "left")):
            save_vote(assignment=assignment, pair_key=display.pair.key, question=question, choice=choice, at=NOON)
    submit_assignment(assignment=assignment, at=NOON)
    result = annotator.qualification_results.get()
    assert (result.right, result.pairs, result.passed) == (2, 2, True)


def test_more_questions_take_few_more_queries(django_assert_max_num_queries: Any) -> None:
    client, address, assignment = at_hit(study_asking(first_reason="required"))
    for key in keys_of(assignment):
        send(client, address, "vote", pair_key=key, question=1, choice="both-bad")
    with django_assert_max_num_queries(14):
        assert client.get(address).text.count('<form class="pair') == 6
    with django_assert_max_num_queries(11):
        sent = {"pair_key": key, "choice": "left", "question": "2", "version": "0"}
        assert client.post(f"{address}vote/", sent, headers=HTMX).status_code == 200
