"""Messages to raters: who may write them, who reads them, and how they are put away."""

import pytest
from django.http import HttpRequest
from django.template import Context, Template
from django.test import RequestFactory

from annotation.annotators.consent import withdraw
from annotation.annotators.messages import mark_read, send_message, send_to_batch, unread
from annotation.core.actions import filled
from annotation.core.errors import Unacceptable
from annotation.core.keys import message_key
from annotation.models import Annotator, Event, Message, Study
from annotation.monitoring.forms import MessageForm
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, signed_in

pytestmark = pytest.mark.django_db
ADDRESS = "/rate/messages/read/"


def store() -> Study:
    return make_study()


def tell(rater: Annotator, text: str = "Please read slowly.") -> Message:
    return send_message(annotator=rater, text=text, by=None, at=NOON)


def shown_to(rater: Annotator) -> str:
    request: HttpRequest = RequestFactory().get("/rate/")
    assert rater.user is not None
    request.user = rater.user
    return Template("{% include 'annotation/rating/_messages.html' %}").render(Context({"request": request}))


def test_a_message_reaches_its_rater_only(study: Study) -> None:
    rater, other = make_annotator(study), make_annotator(study, "other")

    tell(rater, "Please <b>read</b> slowly.\nThank you.")

    page = shown_to(rater)
    assert "Please &lt;b&gt;read&lt;/b&gt; slowly.\nThank you." in page
    assert "slowly" not in shown_to(other)
    event = Event.objects.get()
    assert (event.kind, event.annotator) == ("message", rater)


def test_looking_for_messages_takes_one_query(study: Study, django_assert_num_queries: object) -> None:
    rater = make_annotator(study)
    for number in range(5):
        tell(rater, f"Number {number}.")
    user = rater.user
    assert user is not None

    with django_assert_num_queries(1):  # type: ignore[operator]
        assert [one.text for one in unread(user)] == [f"Number {number}." for number in range(5)]


def test_a_message_is_put_away_by_its_reader_only(study: Study) -> None:
    rater, other = make_annotator(study), make_annotator(study, "other")
    message, further = tell(rater), tell(rater, "Second.")
    key = message_key(message.pk)
    assert str(message.pk) != key

    signed_in(other).post(ADDRESS, {"key": key})
    message.refresh_from_db()
    assert message.read_at is None
    response = signed_in(rater).post(ADDRESS, {"key": key, "next": "/rate/progress/"})

    message.refresh_from_db()
    assert response.headers["Location"] == "/rate/progress/"
    assert message.read_at is not None
    assert "slowly" not in shown_to(rater)
    assert rater.user is not None
    assert not mark_read(user=rater.user, key=key, at=NOON)
    part = signed_in(rater).post(ADDRESS, {"key": key}, headers={"HX-Request": "true"})  # shows the rest
    assert part.status_code == 200
    assert "Second." in part.text
    assert "<html" not in part.text
    signed_in(rater).post(ADDRESS, {"key": message_key(further.pk)}, headers={"HX-Request": "true"})
    assert not unread(rater.user)


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""])
def test_redirects_stay_on_this_server(study: Study, back: str) -> None:
    response = signed_in(make_annotator(study)).post(ADDRESS, {"key": "none", "next": back})

    assert response.headers["Location"] == "/rate/"


def test_a_batchs_message_reaches_all_who_had_a_hit_of_it(study: Study) -> None:
    batch = make_batch(study)
    at_work, gone, idle = (make_annotator(study, name) for name in ("at-work", "gone", "idle"))
    for rater in (at_work, gone):
        claim(rater)
    withdraw(annotator=gone, at=NOON)

    assert send_to_batch(batch=batch, text="We pause at six.", by=None, at=NOON) == 1

    assert Message.objects.get().annotator == at_work
    assert "six" not in shown_to(idle)
    assert Event.objects.get(kind="message").changes == {"raters": 1}


@pytest.mark.parametrize(
    ("text", "code"), [("", "required"), (" \n", "required"), ("x" * 1001, "max_length")], ids=["none", "blank", "long"]
)
def test_a_message_that_says_nothing_or_too_much_is_refused(text: str, code: str) -> None:
    assert MessageForm({"text": text}).errors.get_json_data()["text"][0]["code"] == code
    assert filled(MessageForm, {"text": " One.\r\nTwo. "}).cleaned_data == {"text": "One.\nTwo."}


def test_raters_who_left_get_no_messages(study: Study) -> None:
    gone = make_annotator(study)
    withdraw(annotator=gone, at=NOON)
    imported = Annotator.objects.create(study=study, code="w1", kind="imported")

    for rater in (gone, imported):
        with pytest.raises(Unacceptable, match="never be read"):
            tell(rater)
    with pytest.raises(Unacceptable, match="No rater has claimed a HIT"):
        send_to_batch(batch=make_batch(study), text="Hello.", by=None, at=NOON)
