"""The study page's steps: how far each is, what it lacks, and the one action that comes next."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Batch, Invitation, Study
from annotation.recruitment.channels import address_for_raters, make_channel, make_first_links, set_open
from annotation.separability.services import compute_separability
from annotation.studies.presets import batch_defaults
from annotation.studies.services import archive_study
from reporting.study_pages.checklist import _figures_of_raters
from tests.factories import add_instances, claim, make_annotator, make_batch, make_study, make_user, rate, signed_in
from tests.reporting.study_pages.test_study_pages import batch_fields

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    return make_study(instances=0)


def steps(client: Client) -> dict[str, Any]:
    return {step.key: step for step in client.get("/studies/study/").context["steps"]}


def states(seen: dict[str, Any]) -> dict[str, str]:
    return {key: str(step.state) for key, step in seen.items()}


def first_action(step: Any) -> str:
    return str(step.actions[0].address)


def test_each_step_opens_the_next_one(study: Study, manager: Client) -> None:
    names = ("texts", "separability", "batch", "raters", "judges", "findings")
    later = dict.fromkeys(names, "waiting")
    seen = steps(manager)
    assert states(seen) == later | {"texts": "next", "judges": "waiting"}
    assert first_action(seen["texts"]) == "/studies/study/upload/"

    add_instances(study, [InstanceRow(1, "alone", "news", "s", {"alpha": ["a"]})])
    texts = steps(manager)["texts"]
    assert str(texts.state) == "next"

    add_instances(study, instances=2)
    page = manager.get("/studies/study/")
    seen = {step.key: step for step in page.context["steps"]}
    assert states(seen) == later | {"texts": "done", "separability": "next", "batch": "open", "judges": "open"}
    assert seen["texts"].figures == "3 instances · alpha, beta"
    assert 'action="/studies/study/separability/"' in page.text

    compute_separability(study=study, similarity="rouge1", group="0,1")
    seen = steps(manager)
    assert str(seen["batch"].state) == "next"
    assert seen["separability"].figures == "1 of 1 configuration · rouge1"
    assert first_action(seen["batch"]) == "/studies/study/batches/new/"

    batch = make_batch(study, status="draft", raters=1)
    seen = steps(manager)
    assert first_action(seen["batch"]) == f"/studies/study/batches/{batch.pk}/"
    assert str(seen["raters"].state) == "waiting"


def test_one_text_a_system_has_no_separability_and_a_pair_a_hit(study: Study, manager: Client) -> None:
    add_instances(study, [InstanceRow(1, "one", "news", "s", {"alpha": ["a"], "beta": ["b", "c"]})])
    seen = steps(manager)
    assert states(seen) | {"texts": "done"} == states(seen)
    assert (str(seen["separability"].state), str(seen["batch"].state)) == ("impossible", "next")
    assert first_action(seen["separability"]) == "/studies/study/generate/"
    assert batch_defaults(study).pairs == 1
    assert "Compute separability" not in manager.get("/studies/study/findings/").text
    compute_separability(study=study, similarity="rouge1", group="0,1")
    assert str(steps(manager)["separability"].state) == "impossible"


def test_findings_are_done_once_they_are_read(study: Study, manager: Client) -> None:
    add_instances(study, instances=1)
    make_batch(study, raters=1)
    assert not steps(manager)["findings"].state.label
    rate(claim(make_annotator(study)))
    assert str(steps(manager)["findings"].state) == "open"
    manager.get("/studies/study/findings/")
    assert str(steps(manager)["findings"].state) == "done"


def test_raters_are_brought_watched_and_done(study: Study, manager: Client) -> None:
    add_instances(study, instances=1)
    batch = make_batch(study, raters=1)
    raters = steps(manager)["raters"]
    assert (raters.state, raters.figures) == ("next", "0 of 1 slot filled · 0 at work now · 0 raters joined")
    assert "No channel is open" in raters.missing
    assert raters.actions[0].address == "/studies/study/channels/"
    assert _figures_of_raters(study, 4, 4, 0) == "4 of 4 slots filled · 0 at work now"  # people of imported ratings

    make_annotator(study)  # by an account, and no channel
    make_first_links(study=study, count=1, at=timezone.now())
    raters = steps(manager)["raters"]
    assert raters.figures.endswith("1 rater joined")
    assert str(raters.state) == "running"
    assert first_action(raters) == f"/studies/study/batches/{batch.pk}/"

    Batch.objects.update(status="paused")
    assert steps(manager)["raters"].missing == "The batch is paused."
    Batch.objects.update(status="open")
    rate(claim(make_annotator(study)))
    seen = steps(manager)
    assert seen["raters"].figures.startswith("1 of 1 slot filled")
    assert str(seen["raters"].state) == "done"
    assert str(seen["findings"].state) == "open"
    assert str(seen["separability"].state) == "open"  # it came before the batch, if at all


def test_what_a_reader_may_not_do_is_no_button(study: Study) -> None:
    add_instances(study, instances=1)
    reader = signed_in(make_user("reader", "researcher", study=study))

    assert steps(reader)["batch"].actions == ()
    batch = make_batch(study)
    assert [one.address for one in steps(reader)["raters"].actions] == [
        "/studies/study/channels/",
        f"/studies/study/batches/{batch.pk}/",
    ]


def test_an_archived_study_has_no_next_step(study: Study, manager: Client) -> None:
    archive_study(study=study)
    seen = steps(manager)
    assert "next" not in states(seen).values()
    assert not any(one.actions for one in seen.values())


# Launching


def test_a_launch_ends_at_the_links_and_never_makes_more(study: Study, manager: Client) -> None:
    add_instances(study, instances=2)
    sent = batch_fields(raters="3", raters_from="links", seed="7")

    first = manager.post("/studies/study/batches/new/", sent, follow=True)
    channel = study.channels.get()
    address = f"/studies/study/channels/{channel.key}/links/"
    assert first.redirect_chain == [(address, 302)]
    assert channel.is_open
    links = [one.link for one in first.context["links"]]
    assert len(links) == 3
    assert all(f"{link}<" in first.text for link in links)

    assert manager.post("/studies/study/batches/new/", sent, follow=True).redirect_chain == [(address, 302)]
    assert [one.link for one in manager.get(address).context["links"]] == links
    assert Invitation.objects.count() == 3
    rater = Client()
    assert rater.get(links[0].removeprefix("http://testserver"), follow=True).redirect_chain[0] == ("/rate/", 302)
    assert [one.link for one in manager.get(address).context["links"]] == links[1:]


@pytest.mark.parametrize("answer", [{}, {"raters_from": "later"}], ids=["not asked", "later"])
def test_a_launch_without_links_leads_to_the_ways_to_bring_raters(
    study: Study, manager: Client, answer: dict[str, str]
) -> None:
    add_instances(study, instances=1)
    response = manager.post("/studies/study/batches/new/", batch_fields(**answer), follow=True)
    assert response.redirect_chain == [("/studies/study/channels/", 302)]
    assert not study.channels.exists()


def test_launching_a_draft_asks_about_raters_too(study: Study, manager: Client) -> None:
    add_instances(study, instances=1)
    batch = make_batch(study, status="draft", raters=2)
    page = f"/studies/study/batches/{batch.pk}/"
    assert 'name="raters_from"' in manager.get(page).text

    manager.post(f"{page}status/", {"status": "open", "raters_from": "links"})
    assert Invitation.objects.count() == 2
    assert 'name="raters_from"' not in manager.get(page).text
    for status in ("paused", "open"):
        assert manager.post(f"{page}status/", {"status": status}).headers["Location"] == page


def test_raters_are_brought_from_the_only_open_channel(study: Study) -> None:
    listed = "/studies/study/channels/"
    assert address_for_raters(study) == listed
    poster = make_channel(study=study, kind="anonymous", name="Poster", options={}, is_open=True)
    assert address_for_raters(study) == f"{listed}{poster.key}/"
    make_first_links(study=study, count=3, at=timezone.now())
    assert not Invitation.objects.exists()  # it has a channel
    make_channel(study=study, kind="accounts", name="Links", options={}, is_open=True)
    assert address_for_raters(study) == listed
    set_open(channel=poster, is_open=False)
    assert address_for_raters(study).endswith("/links/")
