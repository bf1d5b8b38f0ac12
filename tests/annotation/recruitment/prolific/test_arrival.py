"""Participants of Prolific arriving: whose place is whose, what a link needs, and who is turned away."""

import time
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from django.test import Client
from django.utils import timezone
from jwt.algorithms import RSAAlgorithm

from annotation.annotators.consent import answer_consent
from annotation.models import Annotator, Channel, Participant, Study, Submission
from annotation.recruitment.channels import set_open
from annotation.recruitment.prolific.submissions import release_browser
from tests.annotation.recruitment.prolific.server import STUDY, ProlificServer, public_key, signed_token
from tests.annotation.recruitment.prolific.setup import (
    NOON,
    OTHER_PID,
    OTHER_SESSION,
    PID,
    SESSION,
    come,
    link,
    make_prolific,
    rater,
)
from tests.factories import claim, make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
IDS = {"PROLIFIC_PID": PID, "STUDY_ID": STUDY, "SESSION_ID": SESSION}


def no_rater_came() -> bool:
    return not (Participant.objects.exists() or Submission.objects.exists() or Annotator.objects.exists())


# The first arrival


def test_first_arrival_makes_a_rater_and_leads_on(channel: Channel) -> None:
    answer, browser = come(channel)

    assert (answer.status_code, answer["Location"]) == (302, "/rate/")
    assert answer["Referrer-Policy"] == "no-referrer"
    submission = Submission.objects.get()
    assert (submission.external_id, submission.state) == (SESSION, "started")
    assert submission.participant.external_id == PID
    annotator = rater(channel)
    assert annotator.kind == "prolific"
    [cookie] = [morsel.OutputString() for name, morsel in answer.cookies.items() if name.startswith("tandem-")]
    assert not any(of_them in annotator.code + annotator.user.username + cookie for of_them in (PID, SESSION))
    assert browser.get("/rate/")["Location"].startswith("/rate/consent/")


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param({"pid": ""}, id="no participant"),
        pytest.param({"session": ""}, id="no submission"),
        pytest.param({"study": ""}, id="no study"),
        pytest.param({"pid": "{{%PROLIFIC_PID%}}"}, id="placeholder"),
        pytest.param({"pid": "<script>alert(1)</script>"}, id="markup"),
        pytest.param({"pid": "a" * 65}, id="too long"),
        pytest.param({"pid": "abc%0a"}, id="line break"),
        pytest.param({"pid": "abc%00"}, id="nul"),
        pytest.param({"session": "..%2f..%2fadmin"}, id="path"),
        pytest.param({"pid": "５f1a"}, id="other digits"),
        pytest.param({"pid": f"{PID}&PROLIFIC_PID={OTHER_PID}"}, id="two participants"),
    ],
)
def test_garbled_link_is_refused_and_makes_no_rater(channel: Channel, ids: dict[str, str]) -> None:
    answer, _browser = come(channel, **ids)

    assert answer.status_code == 400
    assert no_rater_came()
    assert b"<script>alert" not in answer.content
    assert "PROLIFIC_PID" in answer.content.decode()


def test_link_for_another_study_or_to_a_channel_that_names_none_is_refused(study: Study, channel: Channel) -> None:
    without = make_prolific(study, study_id="")

    assert come(channel, study="60f6acb180a7b59ac0621f9f")[0].status_code == 403
    assert come(without, study="x")[0].status_code == 403
    assert come(without, study="")[0].status_code == 400
    assert no_rater_came()


def test_shut_channel_takes_no_new_rater_and_lets_known_ones_on(channel: Channel) -> None:
    _answer, browser = come(channel)
    set_open(channel=channel, is_open=False)

    assert come(channel, pid=OTHER_PID, session=OTHER_SESSION)[0].status_code == 403
    assert come(channel, browser)[0].status_code == 302
    assert Participant.objects.count() == 1


def test_button_lets_in_who_was_taken_for_a_robot(channel: Channel) -> None:
    browser = Client(headers={"User-Agent": "PreviewBrowser"})
    assert "<button>" in browser.get(link(channel)).content.decode()

    assert browser.post(link(channel)).status_code == 302
    assert Participant.objects.count() == 1


def test_a_signed_in_user_is_not_signed_out_by_a_link(channel: Channel) -> None:
    researcher = make_user("researcher", "researcher")
    browser = signed_in(researcher)

    answer, _ = come(channel, browser)

    assert answer.status_code == 200
    assert browser.session["_auth_user_id"] == str(researcher.pk)
    assert no_rater_came()


# Coming back


def test_the_same_browser_comes_back_also_without_its_session(channel: Channel) -> None:
    _answer, browser = come(channel)
    browser.cookies.pop("sessionid")

    answer, _browser = come(channel, browser)

    assert answer.status_code == 302
    assert Participant.objects.count() == Submission.objects.count() == 1
    assert browser.session["_auth_user_id"] == str(rater(channel).user_id)


def test_another_browser_is_refused_and_sees_nothing_of_the_work(channel: Channel) -> None:
    come(channel)
    annotator = rater(channel)
    answer_consent(annotator=annotator, accepted=True, at=NOON)
    hit = claim(annotator)

    answer, stranger = come(channel)

    page = answer.content.decode()
    assert answer.status_code == 403
    assert "another browser" in page
    assert annotator.code not in page
    assert hit.key not in page
    assert "sessionid" not in stranger.cookies
    assert stranger.get(f"/rate/hit/{hit.key}/")["Location"].startswith("/login/")


def test_another_participants_id_with_ones_own_cookie_is_refused(channel: Channel) -> None:
    come(channel)
    _answer, browser = come(channel, pid=OTHER_PID, session=OTHER_SESSION)

    assert browser.get(link(channel)).status_code == 200  # a button first, for a user who is signed in
    assert browser.post(link(channel)).status_code == 403  # it doesn't help
    assert browser.session["_auth_user_id"] == str(rater(channel, OTHER_PID).user_id)


def test_made_up_cookie_and_another_participants_are_refused(channel: Channel) -> None:
    answer, _browser = come(channel)
    others, _browser = come(channel, pid=OTHER_PID, session=OTHER_SESSION)
    [(name, own)], [(_name, anothers)] = (
        [(name, morsel.value) for name, morsel in one.cookies.items() if name.startswith("tandem-")]
        for one in (answer, others)
    )
    for value in ("", "1", f"{rater(channel).pk}:", own[:-2] + "xx", anothers):
        forger = Client()
        forger.cookies[name] = value
        assert come(channel, forger)[0].status_code == 403, value


def test_another_participants_submission_is_refused(channel: Channel) -> None:
    come(channel)

    answer, browser = come(channel, pid=OTHER_PID)

    assert answer.status_code == 403
    assert "sessionid" not in browser.cookies
    assert Submission.objects.get().participant == channel.participants.get(external_id=PID)
    assert not channel.participants.filter(external_id=OTHER_PID).exists()


def test_second_submission_of_one_participant_is_its_own_row(channel: Channel) -> None:
    _answer, browser = come(channel)

    come(channel, browser, session=OTHER_SESSION)

    assert Participant.objects.count() == 1
    assert sorted(Submission.objects.values_list("external_id", flat=True)) == [SESSION, OTHER_SESSION]


def test_two_participants_share_a_browser_each_with_their_own_place(channel: Channel) -> None:
    _answer, browser = come(channel)
    browser.post(link(channel, OTHER_PID, OTHER_SESSION))
    assert browser.session["_auth_user_id"] == str(rater(channel, OTHER_PID).user_id)

    browser.post(link(channel))

    assert browser.session["_auth_user_id"] == str(rater(channel).user_id)


def test_released_participant_comes_from_another_browser_and_the_first_is_out(channel: Channel) -> None:
    _answer, first = come(channel)
    release_browser(submission=Submission.objects.get())

    assert first.get("/rate/")["Location"].startswith("/login/")
    answer, second = come(channel)
    assert answer.status_code == 302
    assert second.get("/rate/").status_code == 302
    assert come(channel, first)[0].status_code == 403
    assert come(channel)[0].status_code == 403  # once only


# Links that Prolific has signed


@pytest.fixture
def signed(study: Study, prolific: ProlificServer) -> Channel:
    prolific.keys = [public_key()]
    return make_prolific(study, prolific, proof="signed")


def open_signed(channel: Channel, token: str, browser: Client | None = None) -> int:
    answer = (browser or Client()).get(f"/join/{channel.key}/?prolific_token={token}")
    return answer.status_code


def token_for(claims: dict[str, str] = IDS, **more: Any) -> str:
    return signed_token(claims, **{"aud": "http://testserver", **more})


def test_signed_link_lets_its_participant_in_from_any_browser(signed: Channel) -> None:
    assert open_signed(signed, token_for()) == 302
    assert open_signed(signed, token_for()) == 302
    assert Participant.objects.get().external_id == PID


def test_unsigned_link_leads_on_who_is_known_only_where_signed_ones_are_asked_for(signed: Channel) -> None:
    assert come(signed)[0].status_code == 403
    assert no_rater_came()
    browser = Client()
    open_signed(signed, token_for(), browser)

    assert come(signed, browser)[0].status_code == 302
    assert come(signed, browser, session=OTHER_SESSION)[0].status_code == 403


def test_token_may_name_the_whole_address_and_have_run_out_by_another_clock(signed: Channel) -> None:
    half_a_minute_ago = int((timezone.now() - timedelta(seconds=30)).timestamp())

    assert open_signed(signed, token_for(aud=f"http://testserver/join/{signed.key}/?PROLIFIC_PID={PID}")) == 302
    assert open_signed(signed, token_for(exp=half_a_minute_ago)) == 302


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(lambda: token_for(seed=2), id="another key"),
        pytest.param(lambda: token_for(kid="key-2"), id="unknown key"),
        pytest.param(lambda: token_for(aud="https://elsewhere.example"), id="another audience"),
        pytest.param(lambda: token_for(aud="http://testserver.evil.example"), id="longer audience"),
        pytest.param(lambda: token_for(aud="http://testserver/join/other/"), id="another channel"),
        pytest.param(lambda: token_for(aud=None), id="no audience"),
        pytest.param(lambda: token_for(exp=int(time.time()) - 3600), id="expired"),
        pytest.param(lambda: token_for(exp="never"), id="no expiry"),
        pytest.param(lambda: token_for({**IDS, "STUDY_ID": "other"}), id="another study"),
        pytest.param(lambda: token_for(header={"alg": "none", "kid": "key-1"}), id="no algorithm"),
        pytest.param(lambda: token_for(header={"alg": "HS256", "kid": "key-1"}), id="another algorithm"),
        pytest.param(lambda: token_for(header={"alg": "RS256"}), id="no key id"),
        pytest.param(lambda: token_for()[:-4], id="cut"),
        pytest.param(lambda: "a.b.c", id="nonsense"),
        pytest.param(lambda: "x" * 10_000, id="long"),
        pytest.param(lambda: ".".join([token_for().split(".")[0], "W10", "AA"]), id="no object"),
        pytest.param(lambda: token_for(header={"alg": "RS256", "kid": ["key-1"]}), id="key id no text"),
    ],
)
def test_token_that_prolific_did_not_sign_for_this_is_refused(signed: Channel, token: Any) -> None:
    assert open_signed(signed, token()) == 403
    assert no_rater_came()


def test_token_whose_ids_lack_or_differ_from_the_address_is_refused(signed: Channel) -> None:
    assert Client().get(link(signed, OTHER_PID, prolific_token=token_for())).status_code == 400
    assert open_signed(signed, token_for({"PROLIFIC_PID": PID})) == 400
    assert no_rater_came()


def test_keys_are_fetched_once_and_not_for_each_made_up_id(signed: Channel, prolific: ProlificServer) -> None:
    for number in range(5):
        open_signed(signed, token_for(kid=f"made-up-{number}"))
    open_signed(signed, token_for())

    assert len(prolific.asked("jwks.json")) <= 2


def test_new_key_is_found(signed: Channel, prolific: ProlificServer) -> None:
    open_signed(signed, token_for())
    prolific.keys = [public_key("key-2", seed=2)]

    assert open_signed(signed, token_for(kid="key-2", seed=2)) == 302


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"n": "_" * 86}, id="short modulus"),
        pytest.param({"n": "not base64!"}, id="no number"),
        pytest.param({"kty": "oct", "k": "c2VjcmV0"}, id="no RSA key"),
        pytest.param({"use": "enc"}, id="for encryption"),
        pytest.param({"alg": "RS512"}, id="another algorithm"),
    ],
)
def test_link_of_an_unfit_key_is_refused(signed: Channel, prolific: ProlificServer, changes: dict[str, str]) -> None:
    prolific.keys = [public_key(**changes)]

    assert open_signed(signed, token_for()) == 403


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_link_signed_by_a_weak_key_is_refused(signed: Channel, prolific: ProlificServer) -> None:
    weak = generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505
    prolific.keys = [RSAAlgorithm.to_jwk(weak.public_key(), as_dict=True) | {"kid": "key-1"}]
    body = {"aud": "http://testserver", "exp": int(time.time()) + 600, "prolific": IDS}

    assert open_signed(signed, jwt.encode(body, weak, "RS256", headers={"kid": "key-1"})) == 403


# Asking Prolific who comes


@pytest.fixture
def asking(study: Study, prolific: ProlificServer) -> Channel:
    return make_prolific(study, prolific, proof="asked")


def test_submission_that_prolific_knows_is_let_in_and_no_other(asking: Channel, prolific: ProlificServer) -> None:
    prolific.add(SESSION, PID)

    answer, browser = come(asking)
    assert answer.status_code == 302
    assert come(asking, browser)[0].status_code == 302
    assert len(prolific.requests) == 1  # once is enough
    assert come(asking, browser, session=OTHER_SESSION)[0].status_code == 403


@pytest.mark.parametrize(
    "there",
    [
        pytest.param({}, id="unknown"),
        pytest.param({"participant": OTHER_PID}, id="another participant"),
        pytest.param({"participant": PID, "study": "elsewhere"}, id="another study"),
        pytest.param({"participant": PID, "status": "RETURNED"}, id="returned"),
    ],
)
def test_submission_unlike_theirs_is_refused(asking: Channel, prolific: ProlificServer, there: dict[str, str]) -> None:
    if there:
        prolific.add(SESSION, **there)

    assert come(asking)[0].status_code == 403
    assert no_rater_came()


@pytest.mark.parametrize("token", [None, "wrong"])
def test_participant_waits_while_prolific_cannot_be_asked(asking: Channel, settings: Any, token: str | None) -> None:
    settings.ENDPOINT_KEY = {"PROLIFIC_TOKEN": token}.get

    answer, _browser = come(asking)

    assert answer.status_code == 503
    assert "again in some minutes" in answer.content.decode()
    assert no_rater_came()
