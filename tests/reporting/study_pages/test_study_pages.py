"""The researcher's and the study admin's pages: who sees them, files in, batches out."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.allocation.claims import claim_hit
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import ImportRecord, RoleGrant, SeparabilityJob, Study, Upload
from annotation.separability.services import compute_separability
from reporting.uploads import jobs as upload_jobs
from tests.factories import (
    add_instances,
    claim,
    csv_file,
    json_lines,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    mturk_row,
    queries_of,
    rate,
    signed_in,
    study_line,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    return make_study(instances=2)


def upload(name: str, data: bytes, kind: str, **fields: str) -> dict[str, Any]:
    return {"kind": kind, "file": SimpleUploadedFile(name, data), **fields}


# Who sees what


def test_the_first_page_leads_every_role_to_its_work(study: Study, researcher: Client) -> None:
    assert researcher.get("/").headers["Location"] == "/studies/"
    assert signed_in(make_user("a", "annotator", study=study)).get("/").headers["Location"] == "/rate/"
    assert signed_in(User.objects.create_superuser("root")).get("/").headers["Location"] == "/studies/"


# Files


def test_a_new_study_whose_file_can_not_be_kept_is_not_created(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(upload_jobs, "_keep", full)
    client = signed_in(make_user("researcher", "researcher", study=make_study("own")))
    page = client.post("/studies/new/", upload("f.jsonl", json_lines([study_line("a")]), "study", slug="fresh"))
    assert page.status_code == 422
    assert "No space left on device" in str(page.context["form"].errors["file"])
    assert not Study.objects.filter(slug="fresh").exists()


def test_a_name_that_is_taken_is_refused_without_touching_that_study(study: Study) -> None:
    client = signed_in(make_user("other", "researcher", study=make_study("own")))

    response = client.post(
        "/studies/new/", upload("f.jsonl", json_lines([study_line("a")]), "study", slug="study", task_kind="free")
    )

    assert response.status_code == 422
    assert study.instances.count() == 2
    assert not RoleGrant.objects.filter(study=study).exists()


def test_a_bad_file_is_told_line_by_line_and_nothing_is_stored(study: Study, researcher: Client) -> None:
    data = json_lines([study_line("new"), {"instance_id": "<script>alert(1)</script>"}])

    response = researcher.post("/studies/study/upload/", upload("bad<b>.jsonl", data, "study"), follow=True)

    assert "<td>source is missing</td>" in response.text
    assert "<script>alert" not in response.text
    assert "bad<b>" not in response.text
    assert study.instances.count() == 2
    errors = researcher.get(f"/studies/study/upload/{Upload.objects.get().key}/errors.csv")
    assert errors.text.splitlines()[:2] == ["line,reason", "2,source is missing"]


def test_a_small_file_is_read_at_once_and_once(study: Study, researcher: Client) -> None:
    fields = {"dataset": "d", "system_1": "one", "system_2": "two"}
    assert researcher.post("/studies/study/upload/", upload("f.csv", b"x", "mturk")).status_code == 422
    for _ in range(2):
        sent = upload("f.csv", csv_file([mturk_row()]), "mturk", **fields)
        assert researcher.post("/studies/study/upload/", sent).headers["Location"] == "/studies/study/"
    assert ImportRecord.objects.count() == 1


def test_a_file_too_large_for_a_request_is_sent_to_the_command_line(
    study: Study, researcher: Client, settings: Any
) -> None:
    settings.UPLOAD_MAX_BYTES = 2**20

    response = researcher.post("/studies/study/upload/", upload("f", b"x" * (2**20 + 1), "study"))

    assert response.status_code == 422
    assert list(response.context["form"].errors) == ["file"]


# Settings


def test_settings_are_changed_and_the_same_consent_text_is_no_new_version(study: Study, manager: Client) -> None:
    form = manager.get("/studies/study/settings/").context["form"]
    sent = {name: form.initial[name] for name in form.fields if form.initial[name] is not None}
    # As a browser sends it.
    sent["consent_text"] = sent["consent_text"].replace("\n", "\r\n")

    response = manager.post("/studies/study/settings/", {**sent, "question": "Which is clearer?"})

    assert response.status_code == 302
    study.refresh_from_db()
    assert (study.question, study.consent_version) == ("Which is clearer?", 1)
    manager.post("/studies/study/settings/", {**sent, "consent_text": "Another."})
    study.refresh_from_db()
    assert (study.consent_text, study.consent_version) == ("Another.", 2)
    assert manager.post("/studies/study/settings/", {**sent, "title": ""}).status_code == 422


# Separability


def test_separability_is_asked_for_once_and_shown_when_it_is_there(study: Study, researcher: Client) -> None:
    for _ in range(2):
        assert researcher.post("/studies/study/separability/", {"similarity": "rouge1"}).status_code == 302
    assert DBTaskResult.objects.count() == 1
    busy = researcher.get("/studies/study/", headers={"HX-Request": "true", "HX-Target": "separability"})
    assert "<html" not in busy.text
    SeparabilityJob.objects.all().delete()

    add_instances(study, [InstanceRow(1, "x", "news", "s", {"alpha": ["a b", "a b"], "beta": ["c", "d"]})])
    compute_separability(study=study)
    again = researcher.get("/studies/study/", headers={"HX-Request": "true", "HX-Target": "separability"})
    assert again.headers["HX-Refresh"] == "true"
    assert "configuration [0.000, 1.000]" in researcher.get("/studies/study/").text
    for field, sent in (
        ("similarity", {"similarity": "vibes"}),
        ("samples", {"samples": "1"}),
        ("__all__", {"similarity": "rouge1", "dataset": "none"}),
    ):
        refused = researcher.post("/studies/study/separability/", sent)
        form = refused.context["separability_form"]
        assert (refused.status_code, list(form.errors)) == (422, [field])
        assert str(form.errors[field][0]).partition("“")[0] in refused.text
    assert not SeparabilityJob.objects.exists()
    assert researcher.get("/studies/study/separability/").status_code == 405


# Batches


def batch_fields(**changes: str) -> dict[str, str]:
    return {"name": "b", "configuration": "0", "pairs": "2", "raters": "3", "how": "all", "seed": "", **changes}


# Errors, text, queries


def test_a_domain_error_is_a_card_for_htmx(study: Study, manager: Client) -> None:
    address = f"/studies/study/batches/{make_batch(study).pk}/status/"
    response = manager.post(address, {"status": "bogus"}, headers={"HX-Request": "true"})

    assert response.status_code == 422
    assert "<html" not in response.text
    assert 'role="alert"' in response.text


def test_no_page_takes_more_queries_for_a_larger_study(study: Study) -> None:
    admin = signed_in(User.objects.create_superuser("root"))
    batch = make_batch(study)
    start, first = "/studies/study/", study.instances.earliest("pk")
    below = ("", "instances/", f"instances/{first.pk}/", f"batches/{batch.pk}/", "upload/", "batches/new/")
    addresses = [*(start + page for page in below), "/studies/"]
    before = {address: queries_of(partial(admin.get, address)) for address in addresses}

    add_instances(study, instances=12, prefix="more")
    for number in range(3):
        add_instances(study, instances=2, dataset=f"set-{number}", systems=("alpha", f"system-{number}"))
        make_study(f"study-{number}", instances=1)
        make_batch(study, name=f"b{number}", dataset=f"set-{number}", systems=("alpha", f"system-{number}"))
    add_instances(
        study, [InstanceRow(1, "x", "news", "s", {name: ["a b", "c", "d"] for name in ("alpha", "beta", "c", "d")})]
    )
    compute_separability(study=study, group="0,1")
    large = make_batch(study, name="large")
    instance = study.instances.get(instance_id="x")
    addresses[2] = f"/studies/study/instances/{instance.pk}/"
    addresses[3] = f"/studies/study/batches/{large.pk}/"

    more = {
        address: queries_of(partial(admin.get, address)) - less
        for address, less in zip(addresses, before.values(), strict=True)
    }

    # One more at most: an instance page looks up the runs of its alignments once there are any.
    assert {address: count for address, count in more.items() if count > 1} == {}


def test_every_object_has_its_place_in_the_admin(study: Study) -> None:
    admin = signed_in(User.objects.create_superuser("root"))
    batch = make_batch(study)
    claim_hit(annotator=make_annotator(study), at=timezone.now())
    compute_separability(study=study, group="0,1")
    index = admin.get("/admin/").text
    names = (
        *("alignment", "annotator", "assignment", "batch", "comparisontable", "consent", "display", "generation"),
        *("hit", "hitpair", "importrecord", "instance", "matchup", "pair", "rating", "rolegrant", "separabilityrun"),
        *("slot", "study", "system", "armdraw", "votechange", "flag", "qualificationresult"),
    )

    for name in names:
        assert f"/admin/annotation/{name}/" in index
        assert admin.get(f"/admin/annotation/{name}/").status_code == 200
        assert admin.get(f"/admin/annotation/{name}/add/").status_code == 403
    for name, row in (("batch", batch), ("study", study)):
        assert admin.get(f"/admin/annotation/{name}/{row.pk}/change/").status_code == 200
        assert admin.post(f"/admin/annotation/{name}/{row.pk}/change/", {"name": "x"}).status_code == 403
        assert admin.post(f"/admin/annotation/{name}/{row.pk}/delete/", {"post": "yes"}).status_code == 403


def test_admin_lists_do_not_ask_per_row(study: Study) -> None:
    names = ["matchup", "assignment", "rating", "display", "separabilityrun", "consent", "slot", "pair"]
    admin = signed_in(User.objects.create_superuser("root"))
    make_batch(study)
    compute_separability(study=study, group="0,1")
    rate(claim(make_annotator(study, "first")))
    admin.get("/admin/annotation/matchup/")
    before = {name: queries_of(partial(admin.get, f"/admin/annotation/{name}/")) for name in names}

    add_instances(study, instances=8, prefix="more")
    for number in range(3):
        rate(claim(make_annotator(study, f"r{number}")))
        add_instances(study, instances=1, dataset=f"d{number}")
    compute_separability(study=study, group="0,1")

    more = {name: queries_of(partial(admin.get, f"/admin/annotation/{name}/")) - less for name, less in before.items()}
    assert {name: count for name, count in more.items() if count > 1} == {}
