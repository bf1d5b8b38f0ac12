"""An import is taken back whole, or refused with what was built on it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps

from annotation.core.errors import AnnotationError
from annotation.importing import staging
from annotation.importing.rating_files import import_ratings
from annotation.importing.study_files import import_study
from annotation.importing.tables import import_tables
from annotation.models import Event, ImportRecord, Study
from annotation.separability.services import compute_separability
from judging.importing.services import import_judgments
from reporting.corrections import taking_back
from reporting.corrections.taking_back import is_in, take_back
from reporting.uploads.jobs import look_after_uploads
from tests.factories import claim, json_lines, make_annotator, make_batch, make_study, study_line
from tests.reporting.corrections.doors import correct, each_door, in_turn

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

RATING = {"instance_id": "i1", "pair_index": 0, "rater": "ann", "rating": 1, "shown_first": "a"}
SYSTEMS = {"system_a": "alpha", "system_b": "beta"}
TABLE = {"table_id": "t1", "instance_id": "i1", **SYSTEMS, "pair_index": 0, "variant": "c8"}
CELLS = [{"aspect": "length", "only_a": "a", "both": "", "only_b": "b"}]
JUDGMENT = {"instance": "i1", **SYSTEMS, "pair": 0, "judge": "j/1.0", "order": "ab", "verdict": "a"}


def line(name: str, words: str) -> dict[str, Any]:
    """An instance with two texts of each system, so that separability is defined."""
    return study_line(name, generations={"alpha": [words, "one"], "beta": ["two one", "three"]})


IMPORTS: dict[str, Callable[..., Any]] = {
    "texts": lambda name="texts.jsonl": import_study(
        data=json_lines([line("i1", "one two"), line("i2", "two three")]), name=name, slug="study", dataset="news"
    ),
    "ratings": lambda: import_ratings(data=json_lines([{**RATING, **SYSTEMS}]), name="ratings.jsonl", slug="study"),
    "tables": lambda: import_tables(data=json_lines([{**TABLE, "rows": CELLS}]), name="tables.jsonl", slug="study"),
    "judgments": lambda: import_judgments(data=json_lines([JUDGMENT]), name="judgments.jsonl", slug="study"),
}


def rows() -> dict[str, list[int]]:
    """The keys of all rows of a study's data, by table."""
    left_out = {"Event", "ImportRecord", "AuditEntry", "ApiToken", "RoleGrant", "DataChanges", "SentRequest"}
    models = [
        model for app in ("annotation", "judging", "reporting") for model in apps.get_app_config(app).get_models()
    ]
    return {
        model.__name__: keys
        for model in models
        if model.__name__ not in left_out
        and (keys := sorted(model._base_manager.order_by().values_list("pk", flat=True)))
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("door", "kind", "staged"), in_turn([(kind, staged) for kind in IMPORTS for staged in (False, True)])
)
def test_an_import_leaves_nothing(monkeypatch: pytest.MonkeyPatch, door: str, kind: str, staged: bool) -> None:
    study = make_study(instances=0)
    if kind != "texts":
        IMPORTS["texts"]()
    before = rows()
    if staged:
        monkeypatch.setattr(staging, "WHOLE", 0)
        monkeypatch.setattr(staging, "PART", 1)
    IMPORTS[kind]()
    compute_separability(study=study, similarity="rouge1", group="configuration")
    study.separability_runs.all().delete() if kind != "texts" else None
    record = study.imports.latest("pk")

    outlook = correct(door, study, "take-back", {"record": record.pk}, preview=True)
    assert (outlook.made, bool(outlook.effects)) == (False, True)
    assert correct(door, study, "take-back", {"record": record.pk, "reason": "wrong file"}).made

    assert rows() == before
    assert not study.imports.filter(pk=record.pk).exists()
    event = study.events.get(kind=Event.Kind.TAKEN_BACK)
    assert (event.changes["file"], event.reason) == (record.file_name, "wrong file")
    IMPORTS[kind]()  # the same file is new again
    assert rows().keys() > before.keys() or study.imports.count() > 1


@pytest.mark.parametrize(
    ("door", "built", "part"),
    in_turn(
        [
            ("ratings", "1 rating."),
            ("tables", "1 comparison table."),
            ("judgments", "1 judgment."),
            ("batch", "2 HITs"),
            ("more", "4 texts"),
        ]
    ),
)
def test_what_was_built_on_it_is_listed(door: str, built: str, part: str) -> None:
    study = make_study(instances=0)
    IMPORTS["texts"]()
    if built == "batch":
        make_batch(study, pairs=1)
        claim(make_annotator(study))
    elif built == "more":
        more = [study_line(name, generations={"z": ["third"], "w": ["fourth"]}) for name in ("i1", "i2")]
        import_study(data=json_lines(more), name="more.jsonl", slug="study", dataset="news")
    else:
        IMPORTS[built]()
    before = rows()

    outcome = correct(door, study, "take-back", {"record": "texts.jsonl"})

    assert (outcome.made, part in outcome.text) == (False, True), outcome.text
    if built != "batch":
        assert f"Take back first: {built}.jsonl" in outcome.text
    assert rows() == before


@each_door
def test_imports_whose_rows_are_not_known_are_refused(door: str) -> None:
    study = make_study()
    study.imports.create(kind="study", file_name="old.jsonl", sha256="0" * 64)

    assert "earlier version" in correct(door, study, "take-back", {"record": "old.jsonl"}).text
    assert "old.jsonl" in correct(door, study, "take-back", {"record": "9999999"}).text


@pytest.mark.django_db(transaction=True)
def test_many_rows_are_deleted_by_the_worker_while_the_study_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking_back, "WHOLE", 0)
    study = make_study(instances=0)
    empty = rows()
    IMPORTS["texts"]()

    assert correct("page", study, "take-back", {"record": "texts.jsonl"}).made
    assert Study.objects.get(pk=study.pk).merging
    with pytest.raises(AnnotationError):
        IMPORTS["texts"]()
    look_after_uploads()

    assert rows() == empty
    assert not Study.objects.get(pk=study.pk).merging


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_is_made_meanwhile_keeps_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check came before the batch: the database refuses, and nothing is deleted."""
    study = make_study(instances=0)
    IMPORTS["texts"]()
    monkeypatch.setattr(taking_back, "refuse_built_on", lambda record: make_batch(study, pairs=1))
    before = rows()

    with pytest.raises(Exception, match=r"Try again|protected foreign keys"):
        take_back(record=study.imports.get())

    assert rows() == before


def test_both_records_of_a_file_of_people_and_judges_go(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(instances=0)
    IMPORTS["texts"]()
    record = study.imports.get()
    ImportRecord.objects.create(study=study, kind="judgments", file_name="texts.jsonl", sha256="1", added=record.added)

    take_back(record=record)

    assert not study.imports.exists()


@pytest.mark.any_engine
def test_a_key_is_looked_up_in_ranges() -> None:
    assert [key for key in range(9) if is_in([[1, 3], [7, 7]], key)] == [1, 2, 3, 7]
