"""The pages on which batches are made, extended, copied, opened and closed; and what they show before anything is made."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import load_command_class
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from annotation.batches.forms import BatchForm
from annotation.batches.sampling import SETTINGS
from annotation.models import Batch, Event, Hit, Study
from tests.annotation.batches.test_batches import chosen, separate
from tests.factories import add_instances, make_batch, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
START = "/studies/study/batches/"


def store() -> Study:
    return make_study(instances=6, k=3, pay_per_hit="0.50", currency="EUR", minutes_per_hit=5, pairs_per_hit=2)


def fields(**changes: Any) -> dict[str, Any]:
    return {"name": "b", "configuration": "0", "pairs": "2", "raters": "3", "how": "all", "seed": "7", **changes}


def part(client: Client, address: str, values: dict[str, Any]) -> str:
    response = client.post(address, values, headers={"HX-Request": "true"})
    assert response.status_code == 200
    assert "<html" not in response.text
    return plain(response.text)


def plain(html: str) -> str:
    """The words of a page, evenly spaced."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


# Making


def test_the_form_begins_with_the_studys_numbers_and_shows_what_they_come_to(manager: Client) -> None:
    page = manager.get(f"{START}new/")

    assert re.search(r'name="pairs" value="2"', page.text)
    assert re.search(r'name="raters" value="3"', page.text)
    assert re.search(r'name="seed" value="\d+"', page.text)
    assert "HITs 6 Pairs 12 Ratings 36 Raters, at least 3 with 6 HITs each Work 1.5 hours Pay 9.00 EUR" in plain(
        page.text
    )
    assert "Separability is not computed" in page.text

    Study.objects.update(pairs_per_hit=5)  # more than the texts make
    assert re.search(r'name="pairs" value="3"', manager.get(f"{START}new/").text)


def test_each_setting_is_offered_by_page_api_and_command(study: Study, manager: Client) -> None:
    page = manager.get(f"{START}new/").text
    parser = load_command_class("annotation", "create_batch").create_parser("manage.py", "create_batch")
    schema = SchemaGenerator().get_schema(request=None, public=True)["components"]["schemas"]

    assert set(SETTINGS) >= {"pairs", "purpose", "lease_minutes", "stop_rule"}
    assert [name for name in SETTINGS if f'name="{name}"' not in page] == []
    assert set(SETTINGS) - {action.dest for action in parser._actions} == set()
    assert set(SETTINGS) - set(schema["NewBatch"]["properties"]) == set()


def test_each_way_to_choose_is_what_the_service_is_asked(study: Study) -> None:
    separate(study, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    choices = {
        "random:3": {"how": "random", "number": "3"},
        "top:2": {"how": "top", "number": "2"},
        "stratified:3x1": {"how": "stratified", "number": "1", "bins": "3"},
        "importance:4": {"how": "importance", "number": "4"},
        "ids": {"how": "ids", "ids": " news-2 \r\n\r\nnews-5"},
        "all": {"how": "all", "number": "3", "bins": "3", "ids": "nonsense"},
    }
    for spec, choice in choices.items():
        form = BatchForm(fields(**choice), study=study)
        assert form.is_valid(), spec
        ids = ["news-2", "news-5"] if spec == "ids" else []
        assert (form.selection.spec, list(form.selection.instance_ids)) == (spec, ids)


@pytest.mark.parametrize(
    ("choice", "spec"),
    [
        ({"how": "stratified", "number": "1", "bins": "3"}, "stratified:3x1"),
        ({"how": "ids", "ids": " news-2 \r\n\r\nnews-5"}, "ids"),
    ],
    ids=str,
)
def test_what_is_shown_is_what_is_made(study: Study, manager: Client, choice: dict[str, str], spec: str) -> None:
    separate(study, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    before = Event.objects.count()
    values = fields(most_hits_per_rater="3", lease_minutes="20", **choice)

    shown = part(manager, f"{START}choice/", values)
    assert (Batch.objects.count(), Hit.objects.count(), Event.objects.count()) == (0, 0, before)
    manager.post(f"{START}new/", values)

    batch = Batch.objects.get()
    assert (batch.most_hits_per_rater, batch.lease_minutes) == (3, 20)
    assert (batch.selection["spec"], batch.status, batch.seed) == (spec, "open", 7)
    hits = batch.hits.count()
    assert f"HITs {hits} Pairs {2 * hits} Ratings {6 * hits}" in shown
    assert f"{hits} instance{'s' if hits > 1 else ''} chosen of 6; {6 - hits} left." in shown
    assert Event.objects.get().by.username == "manager"  # type: ignore[union-attr]


def test_the_histogram_is_a_table_of_numbers(study: Study, manager: Client) -> None:
    separate(study, [0.0, 0.2, 0.4, 0.6, None, 1.0])

    response = manager.post(
        f"{START}choice/", fields(how="ids", ids="news-1\nnews-2\nnews-6"), headers={"HX-Request": "true"}
    )

    assert "0.00–0.10 1 0 0.10–0.20 0 0 0.20–0.30 1 0" in plain(response.text)
    assert "0.90–1.00 1 0 without a value 0 1" in plain(response.text)
    assert '<rect class="chosen" width="100.00%" height="16" />' in response.text
    assert "style=" not in response.text


def test_without_scripts_the_same_is_a_page_that_keeps_what_was_filled_in(study: Study, manager: Client) -> None:
    file = SimpleUploadedFile("ids.txt", "\ufeffnews-3\n".encode())

    page = manager.post(
        f"{START}choice/", fields(name="", how="ids", ids="news-1", ids_file=file, seed="", fee_percent="10")
    )

    assert page.status_code == 200
    assert (
        "HITs 2 Pairs 4 Ratings 12 Raters, at least 3 with 2 HITs each Work 0.5 hours Pay 3.00 EUR With the fee 3.30 EUR"
        in plain(page.text)
    )
    assert re.search(r"<textarea[^>]*>\s*news-1\nnews-3</textarea>", page.text)
    assert re.search(r'name="seed" value="\d+"', page.text)
    assert manager.get(f"{START}choice/", fields(how="random", number="2")).status_code == 200
    assert Batch.objects.count() == 0


def test_a_seed_that_was_left_empty_is_drawn_and_put_into_the_form(study: Study, manager: Client) -> None:
    values = fields(how="random", number="2", seed="")

    response = manager.post(f"{START}choice/", values, headers={"HX-Request": "true"})

    [field] = re.findall(r'<input[^>]*name="seed"[^>]*>', response.text)
    assert 'id="id_seed"' in field
    assert 'hx-swap-oob="true"' in field
    drawn = re.search(r'value="(\d+)"', field)
    made = manager.post(f"{START}new/", {**values, "seed": drawn[1], "status": "draft"})
    batch = Batch.objects.get()
    assert (batch.seed, batch.status, batch.launched_at) == (int(drawn[1]), "draft", None)
    assert made.headers["Location"] == f"{START}{batch.pk}/"
    assert 'name="seed"' not in manager.post(f"{START}choice/", fields(), headers={"HX-Request": "true"}).text


@pytest.mark.parametrize(
    "choice",
    [
        {"how": "random"},
        {"how": "ids", "ids": "news-1\nnews-77"},
        {"configuration": "1"},
        {"gold_rate": "0.3", "repeat_rate": "0.3"},
    ],
    ids=str,
)
def test_what_cannot_be_made_yet_is_said_on_the_whole_page(manager: Client, choice: dict[str, str]) -> None:
    page = manager.post(f"{START}choice/", fields(**choice))
    assert page.status_code == 422
    assert "&lt;a" not in page.text
    assert re.search(r'<input[^>]*name="name"[^>]* required', page.text)
    made = manager.post(f"{START}new/", fields(**choice))
    assert made.status_code == 422
    assert 'value="b"' in made.text
    assert Batch.objects.count() == 0


def test_a_large_file_of_ids_is_refused(study: Study, manager: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2**20
    file = SimpleUploadedFile("ids.txt", b"x" * (2**20 + 1))

    response = manager.post(f"{START}new/", fields(how="ids", ids_file=file))

    assert response.status_code == 422
    assert "Larger than 1 MB." in response.text


# Extending


def test_an_extension_is_shown_then_made(study: Study, manager: Client) -> None:
    batch = make_batch(study, select="ids", instance_ids=["news-1", "news-2"], raters=2)
    address = f"{START}{batch.pk}/extend/"
    asked = {"how": "random", "number": "3", "seed": "5", "more_raters": "1"}
    known = {"known_raters": "2", "known_hits": "2"}

    page = manager.get(address)
    assert 'name="known_hits" value="2"' in page.text
    shown = part(manager, address, {**asked, **known})
    assert "More raters on existing HITs HITs 2 Pairs 4 Ratings 4 Raters, at least 1" in shown
    assert "More HITs HITs 3 Pairs 6 Ratings 18 Raters, at least 3" in shown
    assert "3 instances chosen of 4; 1 left. 2 instances in the batch already were left out." in shown
    plain_page = manager.post(address, {**asked, **known, "show": "1"})
    assert "More HITs HITs 3" in plain(plain_page.text)
    assert (Hit.objects.count(), Event.objects.filter(kind="extended").count()) == (2, 0)

    made = manager.post(address, {**asked, **known, "reason": "Too wide."}, follow=True)

    assert "Batch batch extended." in made.text
    batch.refresh_from_db()
    assert (batch.raters_per_hit, batch.hits.count()) == (3, 5)
    event = Event.objects.get(kind="extended")
    assert (event.reason, event.by.username) == ("Too wide.", "manager")  # type: ignore[union-attr]
    again = manager.post(address, {**asked, **known, "reason": "Too wide."})
    assert again.status_code == 422
    assert "has been extended meanwhile: it has 3 raters per HIT, not 2" in plain(again.text)
    assert batch.hits.count() == 5


# Copying


def test_a_copy_begins_with_the_form_of_its_pattern(study: Study, manager: Client) -> None:
    separate(study, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    batch = make_batch(
        study, name="main", pairs=1, raters=4, select="stratified:2x2", seed=3, repeat_rate=0.25, most_hits_per_rater=5
    )

    page = manager.get(f"{START}{batch.pk}/copy/")

    assert 'value="main, copy"' in page.text
    assert 'action="/studies/study/batches/new/"' in page.text
    assert '<option value="stratified" selected>' in page.text
    for name, value in (("number", 2), ("bins", 2), ("pairs", 1), ("raters", 4), ("most_hits_per_rater", 5)):
        assert re.search(f'name="{name}" value="{value}"', page.text), name
    assert re.search(r'name="repeat_rate" value="0.25"', page.text)
    assert 'name="seed" value="3"' not in page.text
    assert "HITs 4 Pairs 4 Ratings 16" in plain(page.text)
    assert Batch.objects.count() == 1
    assert manager.post(f"{START}{batch.pk}/copy/").status_code == 405


def test_a_list_of_ids_is_copied_with_its_batch(study: Study, manager: Client) -> None:
    batch = make_batch(study, select="ids", instance_ids=["news-4", "news-2"])

    assert re.search(r"<textarea[^>]*>\s*news-2\nnews-4</textarea>", manager.get(f"{START}{batch.pk}/copy/").text)


# States, and who may


def test_a_batch_is_launched_and_closed_by_its_buttons(study: Study, manager: Client) -> None:
    batch = make_batch(study, status="draft")

    response = manager.post(f"{START}{batch.pk}/status/", {"status": "open"})
    assert response.headers["Location"] == "/studies/study/channels/"
    assert Event.objects.get().by.username == "manager"  # type: ignore[union-attr]
    assert manager.post(f"{START}{batch.pk}/status/", {"status": "draft"}).status_code == 422
    assert manager.post(f"{START}{batch.pk}/status/", {"status": "burnt"}).status_code == 422
    assert manager.post(f"{START}{batch.pk}/status/").status_code == 422
    manager.post(f"{START}{batch.pk}/status/", {"status": "closed"})
    assert Batch.objects.get().status == "closed"
    assert manager.get(f"{START}{batch.pk}/status/").status_code == 405


def test_names_are_text_on_every_page(manager: Client, study: Study) -> None:
    attack = "<script>alert(1)</script>"
    add_instances(study, instances=2, dataset=attack, systems=(attack, f"{attack}2"), prefix=attack)
    batch = make_batch(study, name=attack, dataset=attack, systems=(attack, f"{attack}2"))

    addresses = ["new/", f"{batch.pk}/extend/", f"{batch.pk}/copy/", f"{batch.pk}/preview/"]
    for address in addresses:
        response = manager.get(f"{START}{address}")
        assert response.status_code == 200
        assert "<script>alert" not in response.text, address
    assert "<script>alert" not in manager.post(f"{START}choice/", fields(how="ids", ids=attack)).text
    assert chosen(batch) == [f"{attack}-1", f"{attack}-2"]
