"""Mails are stored, then sent: each once, and none is lost with a mail server that is dead or refuses."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.core.errors import AnnotationError
from annotation.core.reasons import reason
from annotation.mail.outbox import GIVEN_UP_AFTER, send_due, write_mail
from annotation.models import Annotator, Channel, Invitation, Mail, Study
from annotation.privacy.erasing import erase_rater
from annotation.privacy.retention import erase_traces
from annotation.recruitment.channels import make_channel, set_open
from annotation.recruitment.invitations import send_mails
from tests.annotation.allocation.test_races import together
from tests.factories import make_batch, make_study, make_user, signed_in
from tests.smtp import Postbox

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NOW = timezone.now()


@pytest.fixture
def study(db: None) -> Study:
    return make_study("talks", contact="ask@lab.example")


@pytest.fixture
def channel(study: Study) -> Channel:
    channel = make_channel(study=study, kind=Channel.Kind.ACCOUNTS, name="by mail", options={})
    set_open(channel=channel, is_open=True)
    return channel


def page(channel: Channel) -> str:
    return f"/studies/{channel.study.slug}/channels/{channel.key}/links/"


def invited(channel: Channel, addresses: str = "ada@example.org\nbob@example.org", **more: str) -> Any:
    boss = signed_in(make_user("boss", "study-admin", study=channel.study))
    return boss.post(page(channel), {"count": "1", "days": "30", "addresses": addresses, **more})


def test_invitations_are_sent_once_and_addresses_forgotten(post: Postbox, channel: Channel) -> None:
    assert invited(channel).status_code == 302
    assert post.taken == []  # a request waits for no mail server
    assert send_mails(at=timezone.now()) == 2
    assert send_mails(at=timezone.now() + timedelta(days=1)) == 0
    assert [mail["To"] for mail in post.taken] == ["ada@example.org", "bob@example.org"]
    text = post.texts[0]
    assert "ask@lab.example" in text
    assert "talks" not in text
    link = text.partition("https://tandem.example.org")[2].split()[0]
    assert Client().post(link).status_code == 302
    assert Invitation.objects.filter(used_at__isnull=False).count() == 1
    assert set(Mail.objects.values_list("state", "address")) == {("sent", "")}
    browser = signed_in(make_user("other", "study-admin", study=channel.study))
    assert "ada@example.org" not in browser.get(page(channel)).text


@pytest.mark.parametrize("addresses", ["ada@example.org, bob", "ada@example.org\nBcc:x"])
def test_what_is_no_address_is_said_and_makes_no_link(post: Postbox, channel: Channel, addresses: str) -> None:
    refused = invited(channel, addresses)
    assert refused.status_code == 422
    assert "is not an e-mail address" in refused.text
    assert not Invitation.objects.exists()


def test_a_dead_mail_server_loses_nothing_and_the_page_says_so(post: Postbox, channel: Channel, settings: Any) -> None:
    invited(channel, "ada@example.org")
    alive, settings.EMAIL_PORT = settings.EMAIL_PORT, 1
    at = timezone.now()
    for attempt in range(5):
        assert send_mails(at=at) == 1
        mail = Mail.objects.get()
        assert (mail.state, mail.attempts) == ("waiting", attempt + 1)
        assert mail.due_at > at
        at = mail.due_at
    browser = signed_in(make_user("other", "study-admin", study=channel.study))
    assert "ConnectionRefusedError" in browser.get(page(channel)).text
    settings.EMAIL_PORT = alive
    assert send_mails(at=at) == 1
    assert len(post.taken) == 1


def test_a_refused_address_is_not_tried_again_until_someone_asks_for_it(post: Postbox, channel: Channel) -> None:
    post.refuse = "550 no such mailbox <ada@example.org>"
    invited(channel, "ada@example.org")
    send_mails(at=timezone.now())
    mail = Mail.objects.get()
    assert (mail.state, mail.address) == ("failed", "ada@example.org")
    assert (mail.error.code, mail.error.values["error"]) == ("mail_error", "SMTPRecipientsRefused")
    assert "550" in mail.error.text
    assert "ada" not in mail.error.text
    assert send_mails(at=timezone.now() + timedelta(hours=2)) == 0
    post.refuse = ""
    browser = signed_in(make_user("other", "study-admin", study=channel.study))
    assert browser.post(page(channel), {"again": mail.key}).status_code == 302
    assert send_mails(at=timezone.now()) == 1
    assert len(post.taken) == 1


def test_a_server_that_is_busy_is_asked_again_and_given_up_after_days(post: Postbox) -> None:
    post.refuse = "450 try later"
    write_mail(kind=Mail.Kind.ADDRESS, address="a@example.org", user=make_user("ann"), at=NOW)
    send_mails(at=NOW)
    assert Mail.objects.get().state == "waiting"
    send_mails(at=NOW + GIVEN_UP_AFTER)
    assert Mail.objects.get().state == "failed"


def test_a_mail_that_may_have_been_sent_is_not_sent_again(post: Postbox) -> None:
    post.hang_up_after = "DATA"
    write_mail(kind=Mail.Kind.ADDRESS, address="a@example.org", user=make_user("ann"), at=NOW)
    send_mails(at=NOW)
    assert len(post.taken) == 1
    assert Mail.objects.get().state == "unsure"
    post.hang_up_after = ""
    send_mails(at=NOW + timedelta(hours=1))
    assert len(post.taken) == 1


def test_a_process_that_dies_while_it_sends_leaves_a_mail_that_says_so(post: Postbox) -> None:
    write_mail(kind=Mail.Kind.ADDRESS, address="a@example.org", user=make_user("ann"), at=NOW)
    Mail.objects.update(state="sending", due_at=NOW)
    assert send_mails(at=NOW) == 0
    mail = Mail.objects.get()
    assert (mail.state, mail.error) == ("unsure", reason("sender_ended"))
    assert post.taken == []


@pytest.mark.engine
@pytest.mark.django_db(transaction=True)
def test_of_several_workers_one_sends(post: Postbox) -> None:
    user = make_user("ann")
    for number in range(4):
        write_mail(kind=Mail.Kind.ADDRESS, address=f"a{number}@example.org", user=user, at=NOW)
    assert sum(together([lambda: send_mails(at=NOW)] * 3)) == 4
    assert len(post.taken) == 4


def test_who_is_erased_gets_no_mail_and_ended_mails_are_deleted_after_a_week(post: Postbox, channel: Channel) -> None:
    invited(channel, "ada@example.org\nbob@example.org")
    erase_rater(annotator=Annotator.objects.order_by("pk").first(), by=None, at=timezone.now())
    send_mails(at=timezone.now())
    assert [mail["To"] for mail in post.taken] == ["bob@example.org"]
    erase_traces(at=timezone.now() + timedelta(days=8))
    assert not Mail.objects.exists()


def test_a_link_that_was_used_meanwhile_is_not_sent(post: Postbox, channel: Channel) -> None:
    invited(channel, "ada@example.org")
    Invitation.objects.update(used_at=timezone.now())
    assert send_mails(at=timezone.now()) == 1
    assert (post.sessions, Mail.objects.get().address) == (0, "")


def test_a_header_that_cannot_be_sent_ends_its_mail_and_no_other(post: Postbox, study: Study) -> None:
    for address in ("a\nb@example.org", "ada@example.org"):
        write_mail(kind=Mail.Kind.RESET, address=address, at=NOW)
    composers = {"reset": lambda _mail, _at: ("Batch a\nBcc: b@example.org", "text")}
    assert send_due(composers, at=NOW) == 2
    assert list(Mail.objects.order_by("pk").values_list("state", flat=True)) == ["failed", "sent"]
    assert [mail["Subject"] for mail in post.taken] == ["Batch a Bcc: b@example.org"]


@pytest.mark.parametrize("character", ["\n", "\r", "\u2028", "\x0b", "\x1c", "\x85"])
def test_a_batch_name_is_one_line(study: Study, character: str) -> None:
    with pytest.raises(AnnotationError, match="One line"):
        make_batch(study, name=f"a{character}b")
