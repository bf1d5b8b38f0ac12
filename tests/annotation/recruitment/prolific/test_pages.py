"""A Prolific channel's settings, its page and buttons, its command, and the codes that participants leave with."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError
from django.test import Client

from annotation.allocation.claims import has_work
from annotation.annotators.consent import answer_consent
from annotation.core.errors import BadFields
from annotation.models import Annotator, Batch, Channel, Study, Submission
from annotation.rating.next_hit_views import completion_message_of
from annotation.recruitment.base import CompletionMessage, WorkOutcome, adapter_of
from annotation.recruitment.prolific.submissions import apply_status
from tests.annotation.recruitment.prolific.server import TOKEN, ProlificServer
from tests.annotation.recruitment.prolific.setup import (
    CODES,
    NOON,
    OTHER_PID,
    OTHER_SESSION,
    PID,
    SECRET,
    SESSION,
    WORDS,
    come,
    join_and_rate,
    make_prolific,
    rater,
)
from tests.factories import claim, make_user, output_of, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def end(channel: Channel, outcome: WorkOutcome | None = None, pid: str = PID) -> CompletionMessage | None:
    """Return what a participant is told at the end; by what became of their work, unless an outcome is given."""
    annotator = rater(channel, pid)
    if outcome is None:
        return completion_message_of(annotator=annotator, at=NOON)
    return adapter_of(channel).completion_message(annotator=annotator, outcome=outcome, at=NOON)


def submission(session: str = SESSION) -> Submission:
    return Submission.objects.get(external_id=session)


# The end


def test_no_code_is_given_before_the_work_is_done(channel: Channel) -> None:
    come(channel)
    annotator = rater(channel)
    told = end(channel, WorkOutcome.NOTHING)
    assert (told.code, told.url, end(channel, WorkOutcome.COMPLETED)) == ("", "", told)
    assert "return your submission" in told.text
    answer_consent(annotator=annotator, accepted=True, at=NOON)
    claim(annotator)

    assert [end(channel, outcome) for outcome in WorkOutcome] == [None, None, None, None]
    assert (submission().code, submission().state) == ("", "started")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param({}, "NOCON1", id="its own code"),
        pytest.param({"code_no_consent": ""}, "OUT1", id="as those who are screened out"),
        pytest.param({"code_no_consent": "", "code_screened_out": ""}, "", id="no code"),
    ],
)
def test_declining_has_its_end(study: Study, prolific: ProlificServer, options: dict[str, str], code: str) -> None:
    channel = make_prolific(study, prolific, **options)
    come(channel)
    answer_consent(annotator=rater(channel), accepted=False, at=NOON)

    told = end(channel)

    assert told.code == code
    assert (submission().state, submission().code) == ("screened-out", code)


def test_blocked_participant_is_screened_out(channel: Channel) -> None:
    come(channel)
    answer_consent(annotator=rater(channel), accepted=True, at=NOON)
    Annotator.objects.update(blocked_at=NOON)

    told = end(channel)

    assert told.code == "OUT1"


def test_completed_participant_gets_one_code_and_the_way_back_however_often(channel: Channel) -> None:
    join_and_rate(channel)

    told = end(channel)

    assert (told.code, told.url) == ("DONE1", "https://app.prolific.com/submissions/complete?cc=DONE1")
    later = NOON + timedelta(hours=5)
    again = adapter_of(channel).completion_message(annotator=rater(channel), outcome=WorkOutcome.COMPLETED, at=later)
    assert [again, *(end(channel, outcome) for outcome in WorkOutcome)] == [told] * (1 + len(WorkOutcome))
    assert (submission().state, submission().code, submission().ended_at) == ("completed", "DONE1", NOON)


def test_returned_submission_gets_no_code(channel: Channel) -> None:
    join_and_rate(channel)
    apply_status(submission=submission(), status="RETURNED", at=NOON)

    told = end(channel)

    assert (told.code, told.url, submission().state) == ("", "", "returned")


def test_who_was_screened_out_may_still_complete(channel: Channel) -> None:
    come(channel)
    answer_consent(annotator=rater(channel), accepted=False, at=NOON)
    end(channel)
    answer_consent(annotator=rater(channel), accepted=True, at=NOON)
    rate(claim(rater(channel)))

    told = end(channel)

    assert told.code == "DONE1"


def test_participant_has_as_many_hits_as_a_place_pays_until_the_code_was_used(channel: Channel, study: Study) -> None:
    assert channel.options["most_hits"] == 1
    annotator = join_and_rate(channel)
    assert Batch.objects.open().exists()
    assert not has_work(annotator)

    channel.options["most_hits"] = 2
    channel.save()
    assert has_work(Annotator.objects.get())

    apply_status(submission=submission(), status="AWAITING REVIEW", at=NOON)
    assert not has_work(Annotator.objects.get())


# Settings


def test_what_is_left_empty_has_its_meaning(study: Study) -> None:
    channel = make_prolific(study, most_hits="", bonus_cap="", proof="")

    meaning = {"most_hits": 1, "bonus_cap": "5.00", "proof": "link", "api_url": ""}
    assert meaning.items() <= channel.options.items()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        pytest.param({"code_timed_out": "DONE1"}, "code_timed_out", id="one code for two ends"),
        pytest.param({"code_completed": "A B"}, "code_completed", id="no code"),
        pytest.param({"study_id": "../x"}, "study_id", id="no id"),
        pytest.param({"token_env": "SECRET_KEY"}, "token_env", id="another secret"),
        pytest.param({"token_env": "abc-the-token-itself"}, "token_env", id="the token itself"),
        pytest.param({"webhook_secret_env": "DATABASE_URL"}, "webhook_secret_env", id="the database"),
        pytest.param({"api_url": "https://evil.example"}, "api_url", id="elsewhere"),
        pytest.param({"api_url": "http://127.0.0.1:1"}, "api_url", id="this machine, not allowed"),
        pytest.param({"bonus_cap": "-1"}, "bonus_cap", id="no amount"),
        pytest.param({"proof": "trust"}, "proof", id="unknown proof"),
        pytest.param({"most_hits": "0"}, "most_hits", id="no HIT"),
        pytest.param({"proof": "asked", "token_env": ""}, "token_env", id="asked without a token"),
    ],
)
def test_setting_that_cannot_be_taken_is_named(study: Study, options: dict[str, str], field: str) -> None:
    with pytest.raises(BadFields) as problem:
        make_prolific(study, **options)

    assert field in problem.value.fields
    assert "the-token-itself" not in str(problem.value)


# The page


def address(channel: Channel) -> str:
    return f"/studies/{channel.study.slug}/channels/{channel.key}/"


def press(browser: Client, channel: Channel, act: str, **data: str) -> tuple[int, str]:
    answer = browser.post(address(channel), {"act": act, "submission": SESSION, **data}, follow=True)
    return answer.status_code, answer.content.decode()


def test_page_shows_what_to_enter_at_prolific(manager: Client, channel: Channel, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["tandem.example"]

    page = manager.get(address(channel), secure=True, headers={"Host": "tandem.example"}).content.decode()

    start = f"https://tandem.example/join/{channel.key}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}"
    assert f"{start}&amp;STUDY_ID={{{{%STUDY_ID%}}}}&amp;SESSION_ID={{{{%SESSION_ID%}}}}" in page
    assert f"https://tandem.example/hooks/prolific/{channel.key}/" in page
    assert all(code in page for code in CODES.values())
    assert TOKEN not in page
    assert SECRET not in page


def test_page_shows_its_studys_submissions_under_the_raters_codes(manager: Client, channel: Channel) -> None:
    annotator = join_and_rate(channel)
    end(channel)
    channel.submissions.create(external_id=OTHER_SESSION)  # of another study
    channel.submissions.create(external_id="61015b057bd72ddc7244edbb", details={"in_study": True})

    page = manager.get(address(channel)).content.decode()

    assert all(text in page for text in (annotator.code, SESSION, "Completed, awaits a decision", "Never used here"))
    assert PID not in page
    assert OTHER_SESSION not in page


def test_page_costs_the_same_for_many(manager: Client, channel: Channel, django_assert_max_num_queries: Any) -> None:
    for number in range(6):
        visit = come if number % 2 else join_and_rate
        visit(channel, pid=f"{number:024x}", session=f"{number:023x}a")
    manager.get(address(channel))

    with django_assert_max_num_queries(30):
        manager.get(address(channel))


def test_reader_sees_neither_codes_nor_buttons(channel: Channel, study: Study) -> None:
    come(channel)
    reader = signed_in(make_user("reader", "researcher", study=study))

    page = reader.get(address(channel)).content.decode()

    assert SESSION in page
    assert "DONE1" not in page
    assert 'name="act"' not in page
    assert press(reader, channel, "approve")[0] == 403


def test_buttons_do_what_they_say(manager: Client, channel: Channel, prolific: ProlificServer) -> None:
    for session, pid in ((SESSION, PID), (OTHER_SESSION, OTHER_PID)):
        come(channel, session=session, pid=pid)
        prolific.add(session, pid, "AWAITING REVIEW")

    assert come(channel)[0].status_code == 403  # in another browser
    press(manager, channel, "release")
    assert come(channel)[0].status_code == 302
    assert "Submissions at Prolific: 2" in press(manager, channel, "sync")[1]
    assert "on its way" in press(manager, channel, "bonus", amount="0.75")[1]
    assert "done before" in press(manager, channel, "bonus", amount="0.75")[1]
    assert "Approved." in press(manager, channel, "approve")[1]
    rejection = {"submission": OTHER_SESSION, "reason": WORDS, "category": "LOW_EFFORT"}
    assert "Rejected." in press(manager, channel, "reject", **rejection)[1]
    assert [prolific.submissions[session]["status"] for session in (SESSION, OTHER_SESSION)] == ["APPROVED", "REJECTED"]
    assert prolific.paid(SESSION) == [75.0]


TROUBLE: list[tuple[str, dict[str, str], int, str]] = [
    ("reject", {"reason": "<b>short", "category": "OTHER"}, 422, "this has 8"),
    ("bonus", {"amount": "99"}, 422, "largest bonus"),
    ("approve", {"submission": ""}, 404, "No submission"),
    ("approve", {"submission": "<script>"}, 404, "No submission"),
    ("delete", {}, 422, "no action"),
    ("approve", {}, 409, "Prolific refuses"),
]


def test_trouble_is_told_in_words_and_what_was_filled_in_stays(manager: Client, channel: Channel) -> None:
    come(channel)

    for act, data, status, words in TROUBLE:
        found, page = press(manager, channel, act, **data)

        assert (found, words in page) == (status, True), (act, data)
        assert "<script>" not in page.split("<main", 1)[1]
        if "reason" in data:
            assert "&lt;b&gt;short</textarea>" in page


def test_another_channels_submission_is_not_found(
    manager: Client, channel: Channel, study: Study, prolific: ProlificServer
) -> None:
    other = make_prolific(study, prolific)
    come(other)
    prolific.add(SESSION, PID, "AWAITING REVIEW")

    assert press(manager, channel, "approve")[0] == 404
    assert prolific.requests == []


def test_enter_key_decides_nothing(manager: Client, channel: Channel) -> None:
    come(channel)

    page = manager.get(address(channel)).content.decode()

    form = page[page.index('name="submission"') - 4000 : page.index('value="approve"')]
    assert form.index("<button disabled hidden>") > 0


# The command


def run(*words: str) -> Any:
    return json.loads(output_of("prolific", *words))


def test_command_ends_with_words_when_it_cannot(channel: Channel) -> None:
    come(channel)

    for words in (
        ["approve", "study", "unknown"],
        ["approve", "elsewhere", SESSION],
        ["sync", "study", "--channel", "x"],
        ["reject", "study", SESSION, "--reason", "no", "--category", "OTHER"],
        ["bonus", "study", SESSION, "--amount", "0"],
    ):
        with pytest.raises(CommandError) as problem:
            run(*words)
        assert str(problem.value)


def test_command_wants_one_of_several_channels_named(channel: Channel, study: Study, prolific: ProlificServer) -> None:
    make_prolific(study, prolific)

    with pytest.raises(CommandError, match="Prolific 1, Prolific 2"):
        run("sync", "study")
    assert run("sync", "study", "--channel", "Prolific 2")["seen"] == 0


def test_way_back_leads_to_prolific_only(channel: Channel) -> None:
    join_and_rate(channel)
    channel.options["code_completed"] = "x&y=//evil.example"  # past the form, which refuses it
    channel.save()

    told = end(channel)

    parts = urlsplit(told.url)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "app.prolific.com", "/submissions/complete")
    assert parts.query == "cc=x%26y%3D%2F%2Fevil.example"
