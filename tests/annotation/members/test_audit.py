"""The audit log: what researchers and admins send is there as keys, what raters send is not, and no row ever changes."""

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from annotation.management.commands._base import TandemCommand
from annotation.members.audit import MOST_CHANGES, changes
from annotation.models import AuditEntry, Event, Instance, RoleGrant, Study
from annotation.privacy.erasing import erase_rater
from config.__main__ import AUDITED, main
from tests.factories import make_annotator, make_batch, make_study, make_user, output_of, signed_in, token_of

OURS = ("annotation", "judging", "reporting")
TEXTS_OF_USERS = ["password", "username", "first_name", "last_name", "email"]

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    return make_study("talks")


@pytest.fixture
def boss(study: Study) -> Client:
    return signed_in(User.objects.create_superuser("boss.of.all"))


def logged() -> list[dict[str, Any]]:
    return [json.loads(line) for line in output_of("audit_log").splitlines()]


def test_who_did_what_when_with_what_result_is_logged_as_keys(boss: Client, study: Study) -> None:
    boss.get(f"/studies/{study.slug}/members/")
    done = boss.post(
        f"/studies/{study.slug}/members/", {"username": "ada.lovelace", "role": "researcher", "new": "True"}
    )
    boss.post("/groups/nowhere/rename/", {"name": "Ada's"})
    first, second = logged()
    account = User.objects.get(username="boss.of.all").pk
    asked = {"method": "POST", "action": "annotation:members", "about": {"slug": "talks"}}
    answered = {"status": done.status_code, "request_id": done["X-Request-ID"]}
    assert ({"account": account} | asked | answered).items() <= first.items()
    assert {"id", "at", "changes"} == first.keys() - {"account", *asked, *answered}
    user, grant = User.objects.get(username="ada.lovelace"), RoleGrant.objects.get(study=study)
    added_user, added_grant = first["changes"]
    assert (added_user["kind"], added_user["model"], added_user["texts"]) == ("added", "auth.user", TEXTS_OF_USERS)
    assert added_user["changes"]["is_superuser"] == [None, False]
    assert (added_grant["key"], added_grant["changes"]["user"]) == (grant.pk, [None, user.pk])
    assert added_grant["changes"]["role"] == [None, "researcher"]
    assert (second["action"], second["status"]) == ("annotation:rename-group", 404)
    assert "ada" not in json.dumps(logged()).lower()


def test_before_and_after_come_from_the_studys_log_without_what_was_written_about_raters(
    boss: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater = make_annotator(study)

    def change(*_args: object, **_named: object) -> None:
        now = timezone.now()
        Event.objects.create(study=study, kind="paused", changes={"status": ["open", "paused"]}, happened_at=now)
        Event.objects.create(study=study, kind="unblocked", annotator=rater, reason="Ada", changes={"why": ["Ada", ""]})
        raise DatabaseError("stop here")

    monkeypatch.setattr("annotation.members.member_views._members", change)
    boss.raise_request_exception = False
    boss.post(f"/studies/{study.slug}/members/", {"username": "x", "role": "researcher"})
    [entry] = logged()
    about_study, about_rater = entry["changes"]
    assert (about_study["kind"], about_study["changes"]) == ("paused", {"status": ["open", "paused"]})
    assert (about_rater["kind"], about_rater["changes"]) == ("unblocked", {})
    assert "Ada" not in json.dumps(entry)
    erase_rater(annotator=rater, by=None, at=timezone.now())
    assert logged() == [entry]


def test_values_before_and_after_are_logged_and_texts_by_their_names(boss: Client, study: Study) -> None:
    user = make_user("ada", "researcher", study=study)
    grant = RoleGrant.objects.get(user=user)
    boss.post(f"/studies/{study.slug}/members/revoke/", {"grant": grant.pk, "role": "researcher", "username": "ada"})
    batch = make_batch(study)
    assert boss.post(f"/studies/{study.slug}/batches/{batch.pk}/status/", {"status": "paused"}).status_code == 302
    revoked, edited = (entry["changes"] for entry in logged())
    assert [(one["kind"], one["model"], one["changes"]["role"]) for one in revoked] == [
        ("deleted", "annotation.rolegrant", ["researcher", None])
    ]
    found = {one["kind"]: one for one in edited}
    assert (found["changed"]["model"], found["changed"]["key"]) == ("annotation.batch", batch.pk)
    assert found["changed"]["changes"] == {"status": ["open", "paused"]}


def test_an_erasure_names_no_text_that_was_empty_and_stays_so(study: Study) -> None:
    rater = make_annotator(study)
    request = changes.set([])
    erase_rater(annotator=rater, by=None, at=timezone.now())
    noted = changes.get() or []
    changes.reset(request)
    [erased] = [one for one in noted if one.get("model") == "annotation.annotator" and "erased_at" in one["changes"]]
    assert erased["texts"] == []


def test_what_an_upload_changes_is_bounded(boss: Client, study: Study) -> None:
    request = changes.set([])
    for number in range(MOST_CHANGES + 10):
        Instance.objects.create(study=study, instance_id=f"i{number}", source="Ada's text", position=100 + number)
    noted = changes.get() or []
    changes.reset(request)
    assert (len(noted), noted[-1]) == (MOST_CHANGES, {"kind": "more", "rows": 11})
    assert "Ada" not in json.dumps(noted)


def test_a_request_with_a_token_is_of_the_tokens_account(study: Study) -> None:
    user = make_user("ada", "study-admin", study=study)
    program = Client(headers={"Authorization": f"Token {token_of(user)}"})
    sent = program.patch(f"/api/v1/studies/{study.slug}/", {"title": "Ada's"}, content_type="application/json")
    refused = program.patch("/api/v1/studies/nowhere/", {"title": "x"}, content_type="application/json")
    assert [(one["account"], one["method"], one["status"]) for one in logged()] == [
        (user.pk, "PATCH", sent.status_code),
        (user.pk, "PATCH", refused.status_code),
    ]
    assert (sent.status_code, refused.status_code) == (200, 404)


def test_raters_and_strangers_are_not_in_it(study: Study) -> None:
    Client().post("/login/", {"username": "nobody", "password": "wrong"})
    Client().post(f"/studies/{study.slug}/members/", {"username": "x"})
    rater = signed_in(make_user("rater", "annotator", study=study))
    rater.post("/rate/hit/none/vote/", {})
    assert logged() == []


def test_no_row_is_changed_or_deleted(boss: Client) -> None:
    boss.post("/groups/nowhere/rename/", {"name": "x"})
    entry = AuditEntry.objects.get()
    rows = AuditEntry.objects.all()
    for change in (entry.save, entry.delete, rows.delete, lambda: rows.update(status=1)):
        with pytest.raises(TypeError, match="append-only"):
            change()
    assert boss.post(f"/admin/annotation/auditentry/{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    assert AuditEntry.objects.filter(pk=entry.pk).exists()


def test_a_database_that_takes_no_row_does_not_hide_what_was_done(
    boss: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_values: object) -> None:
        raise DatabaseError("full")

    monkeypatch.setattr(AuditEntry.objects, "create", fail)
    assert boss.post("/groups/nowhere/rename/", {"name": "x"}).status_code == 404
    assert "is not in the audit log: full" in caplog.text


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_away_is_said_to_be(
    boss: Client, study: Study, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(_request: object) -> None:
        raise error("gone")

    monkeypatch.setattr("django.contrib.auth.middleware.get_user", fail)
    assert boss.post(f"/studies/{study.slug}/files/report/").status_code == 503


def test_commands_that_may_change_something_are_in_it_and_others_are_not(study: Study) -> None:
    call_command("list_members", "--study", study.slug, stdout=StringIO())
    assert logged() == []
    call_command("grant", "ada.lovelace", "--role", "researcher", "--study", study.slug, stdout=StringIO())
    with pytest.raises(CommandError):
        call_command("grant", "ada.lovelace", "--role", "researcher", "--study", "nowhere", stdout=StringIO())
    entry, refused = logged()
    assert (entry["account"], entry["method"], entry["action"], entry["status"]) == (0, "COMMAND", "grant", 200)
    assert [one["model"] for one in entry["changes"]] == ["auth.user", "annotation.rolegrant"]
    assert "ada" not in json.dumps([entry, refused])
    assert (refused["action"], refused["status"], refused["changes"]) == ("grant", 500, [])
    Instance.objects.all().delete()
    call_command("configure_study", study.slug, "title=Another", stdout=StringIO())
    assert [one["action"] for one in logged()] == ["grant", "grant", "configure_study"]
    assert output_of("audit_log", "--since", "2999-01-01") == ""


def test_djangos_own_commands_are_in_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "ada's own long one")
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()
    monkeypatch.setattr("django.db.connections.close_all", lambda: None)  # a database in memory would be gone
    user = ("--noinput", "--username", "ada", "--email", "ada@example.org")
    for line in (("createsuperuser", *user), ("showmigrations",), ("migrate", "sessions", "--fake")):
        monkeypatch.setattr("sys.argv", ["tandem", *line])
        main()
    [entry] = logged()
    named = {"account": 0, "method": "COMMAND", "action": "createsuperuser", "status": 200}
    assert named.items() <= entry.items()
    assert [one["model"] for one in entry["changes"]] == ["auth.user"]
    assert "ada" not in json.dumps(entry)


READ_ONLY = {
    *("audit_log", "backup", "batch_status", "data_sets", "estimate_run", "findings", "judge_accuracy", "list_members"),
    *("export_bundle", "export_preferences", "export_study", "export_tables", "payments", "plan", "refine_preferences"),
    *("report", "run_status", "separability_advice", "separability_stability", "table_effect", "verify_bundle"),
}


def test_each_command_of_ours_is_audited_unless_it_reads_serves_or_restores() -> None:
    """`demo` and `serve` become the server, after commands that are audited each."""
    ours = {name: load_command_class(app, name) for name, app in get_commands().items() if app in OURS}
    apart = {name for name, one in ours.items() if not (isinstance(one, TandemCommand) and one.is_audited)}
    assert apart == {*READ_ONLY, "demo", "serve", "worker", "restore"}
    assert len(ours) > 70
    assert get_commands().keys() >= AUDITED  # of Django's own
