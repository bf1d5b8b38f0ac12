"""Commands: what they say, and that a refusal is one clear message and a non-zero status."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.migrations.recorder import MigrationRecorder

from annotation.management.commands import compute_separability
from annotation.models import Batch, Rating, RoleGrant, Study
from tests.annotation.importing.test_rating_files import line
from tests.factories import csv_file, json_lines, make_study, make_user, mturk_row, output_of, study_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_file(data: bytes, name: str = "f.jsonl") -> str:
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write_file


RATING = line(rater="r", rating=1)


def twice(*arguments: str) -> None:
    """Call a command again: what is there already is left as it is."""
    for _time in range(2):
        call_command(*arguments)


def test_import_ratings_marks_programs(write: Any) -> None:
    study = make_study()
    twice("import_ratings", write(json_lines([RATING, {**RATING, "pair_index": 1}])), "--study=study", "--scripted")

    assert study.annotators.get().kind == "scripted"
    assert Rating.objects.count() == 2


def test_import_study_takes_settings(write: Any) -> None:
    path = write(json_lines([study_line("a"), study_line("b", dataset="own", source="another")]))
    twice("import_study", path, "--study=s", "--dataset=news", "--title=T", "--task=dialogue", "--question=Q?")

    study = Study.objects.get()
    assert (study.title, study.task_kind, study.question) == ("T", "dialogue", "Q?")
    assert list(study.instances.values_list("dataset", flat=True)) == ["news", "own"]


def test_import_mturk_takes_columns_by_other_names(write: Any) -> None:
    row = {("who" if key == "WorkerId" else key): value for key, value in mturk_row().items()}
    path = write(csv_file([row]), "f.csv")
    named = ["--study=s", "--system-1=one", "--system-2=two", "--dataset=news", "--column=worker=who", "--batch=b"]
    twice("import_mturk", path, *named)

    assert Batch.objects.get().name == "b"
    assert Rating.objects.count() == 2


@pytest.mark.parametrize("column", ["worker", "worker=", "nobody=x", "=x"])
def test_import_mturk_explains_the_column_option(write: Any, column: str) -> None:
    with pytest.raises(CommandError, match="FIELD=COLUMN"):
        call_command(
            "import_mturk", write(b""), "--study=s", "--system-1=a", "--system-2=b", "--dataset=d", f"--column={column}"
        )


def test_import_ratings_takes_votes_with_their_texts(write: Any) -> None:
    vote = {"id": 1, "prompt": 1, "left": "a", "right": "b", "worker": "w", "winner": "tie"}
    votes = write(csv_file([vote]), "v.csv")
    texts = write(json_lines([{"id": 1, "text": "P", "result_x": "x", "result_y": "y"}]), "t.jsonl")

    call_command("import_ratings", votes, "--texts", texts, "--study", "s", "--dataset", "d")

    assert Rating.objects.get().verdict == 0
    with pytest.raises(CommandError, match="--scripted"):
        call_command("import_ratings", votes, "--texts", texts, "--study", "s", "--scripted")


def test_create_batch_takes_a_list_of_ids_once(write: Any) -> None:
    make_study(instances=3, k=2)
    ids = write(b"\xef\xbb\xbfnews-3\r\n\r\n news-1 \r\n", "ids.txt")
    numbers = ["--pairs=2", "--raters=3", f"--select=ids:{ids}"]
    twice("create_batch", "study", "--name=b", "--dataset=news", "--systems", "beta", "alpha", *numbers)

    batch = Batch.objects.get()
    assert (batch.hits.count(), batch.slots.count(), batch.pairs_per_hit) == (2, 6, 2)


def test_batches_as_json_tell_in_words_what_they_leave_out(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_study", write(json_lines([study_line("a"), study_line("b", source="")])), "--study", "s")
    capsys.readouterr()
    options = ["--dataset", "default", "--systems", "alpha", "beta", "--pairs", "1", "--format", "json"]
    call_command("create_batch", "s", "--name", "b", *options)

    assert json.loads(capsys.readouterr().out)["selection"]["left_out"] == {"without source text": 1}


@pytest.mark.slow
def test_create_batch_for_a_qualification_and_with_hidden_checks(write: Any) -> None:
    gold = {"better": "alpha", "why": "It names the place."}
    call_command("import_study", write(json_lines([study_line("a", gold=gold), study_line("b")])), "--study", "s")
    batch = ["create_batch", "s", "--dataset", "default", "--systems", "alpha", "beta", "--pairs", "1", "--seed", "1"]

    call_command(*batch, "--name", "first", "--purpose", "qualification")
    call_command(*batch, "--name", "main", "--gold-rate", "0.1", "--repeat-rate", "0.2")

    first, main = Batch.objects.order_by("pk")
    assert (first.purpose, first.hits.count()) == ("qualification", 1)
    assert (main.purpose, main.gold_rate, main.repeat_rate) == ("rating", 0.1, 0.2)


@pytest.mark.slow
def test_create_batch_warns_of_a_choice_by_separability(capsys: pytest.CaptureFixture[str], write: Any) -> None:
    lines = [
        study_line("near", generations={"alpha": ["cat dog", "cat sun"], "beta": ["cat dog", "cat dog"]}),
        study_line("far", generations={"alpha": ["cat dog", "cat dog"], "beta": ["sun sea", "sun sea"]}),
    ]
    call_command("import_study", write(json_lines(lines)), "--study", "s", "--dataset", "d")
    call_command("compute_separability", "s", "--similarity", "rouge1")
    capsys.readouterr()

    batch = ["create_batch", "s", "--dataset", "d", "--systems", "alpha", "beta", "--pairs", "1", "--select"]
    call_command(*batch, "top:1", "--name", "a")
    assert "notice: chosen by rouge1" in capsys.readouterr().err
    call_command(*batch, "random:1", "--name", "b")
    assert capsys.readouterr().err == ""


def test_grant_makes_a_user_without_a_password_once() -> None:
    study = make_study(instances=0)
    twice("grant", "ann", "--role", "annotator", "--study", "study")
    call_command("grant", "ann", "--role", "researcher")

    user = User.objects.get()
    assert not user.has_usable_password()
    assert not user.is_superuser
    assert set(RoleGrant.objects.values_list("role", "study")) == {("annotator", study.pk), ("researcher", None)}


def test_grant_admin_is_for_all_studies_or_not_at_all() -> None:
    make_study(instances=0)
    with pytest.raises(CommandError, match="site admin"):
        call_command("grant", "ann", "--role", "admin", "--study", "study")
    assert User.objects.count() == 0

    twice("grant", "ann", "--role", "admin")
    user = User.objects.get()
    assert (user.is_staff, user.is_superuser) == (True, True)


@pytest.mark.parametrize("name", ["two words", "x" * 151, ""])
def test_grant_refuses_a_name_that_no_user_can_have(name: str) -> None:
    with pytest.raises(CommandError, match="username: "):
        call_command("grant", name, "--role", "annotator")

    assert User.objects.count() == 0


def test_login_link_prints_a_link_for_the_server() -> None:
    make_user("ann")

    assert output_of("login_link", "ann").startswith("http://localhost:8000/login/link/?sesame=")
    assert output_of("login_link", "ann", "--base-url", "https://x.org/").startswith("https://x.org/login/link/?")
    with pytest.raises(CommandError, match=r"there is no user bob; create one: manage\.py grant bob"):
        call_command("login_link", "bob")


@pytest.mark.parametrize(
    "arguments",
    [
        ["import_ratings", "FILE", "--study", "nowhere"],
        ["import_tables", "FILE", "--study", "nowhere"],
        ["compute_separability", "nowhere"],
        ["create_batch", "nowhere", "--name", "b", "--dataset", "d", "--systems", "a", "b"],
        ["grant", "ann", "--role", "annotator", "--study", "nowhere"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_unknown_study_is_named(write: Any, arguments: list[str]) -> None:
    make_study("here", instances=0)
    path = write(json_lines([RATING]))

    with pytest.raises(CommandError) as caught:
        call_command(*(path if argument == "FILE" else argument for argument in arguments))

    assert str(caught.value).startswith("there is no study nowhere; ")
    assert User.objects.count() == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["import_study", "FILE", "--study", "s"],
        ["import_mturk", "FILE", "--study", "s", "--system-1", "a", "--system-2", "b", "--dataset", "d"],
        ["import_ratings", "FILE", "--study", "s"],
        ["import_ratings", "FILE", "--study", "s", "--texts", "FILE"],
        ["import_tables", "FILE", "--study", "s"],
        ["create_batch", "s", "--name", "b", "--dataset", "d", "--systems", "a", "b", "--select", "ids:FILE"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("none", "can't be read: No such file or directory", id="missing"),
        pytest.param("n" * 300, "can't be read: File name too long", id="long"),
        pytest.param("", "holds no file that ends with", id="folder"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, arguments: list[str], name: str, reason: str) -> None:
    path = str(tmp_path / name)
    make_study("s", instances=0)

    with pytest.raises(CommandError, match=f"{path} {reason}"):
        call_command(*(argument.replace("FILE", path) for argument in arguments))


def test_a_bad_file_is_one_message_with_every_line(write: Any) -> None:
    path = write(json_lines([study_line("a"), {}, []]))  # type: ignore[list-item]

    with pytest.raises(CommandError) as caught:
        call_command("import_study", path, "--study", "s")

    assert str(caught.value).splitlines() == [
        "f.jsonl: 4 bad lines; nothing was stored",
        "  line 2: instance_id is missing",
        "  line 2: source is missing",
        "  line 2: generations is missing",
        "  line 3: not a JSON object; each line holds one {…}",
    ]
    assert Study.objects.count() == Rating.objects.count() == 0


def test_a_refusal_ends_the_program_with_a_status_and_no_stack_trace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.core.management.base.connections.close_all", lambda: None)  # the test's own, too

    with pytest.raises(SystemExit) as caught:
        compute_separability.Command().run_from_argv(["manage.py", "compute_separability", "nowhere"])

    assert caught.value.code == 1
    captured = capsys.readouterr()
    assert captured.err.strip() == "CommandError: there is no study nowhere; known: none yet"


def test_missing_migrations_are_named_beside_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study()
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()
    call_command("findings", study.slug, "--format", "json")
    printed = capsys.readouterr()
    assert json.loads(printed.out)["study"] == study.slug
    assert "1 unapplied migration" in printed.err
