"""A study made of a bundle is the same study; or there is none."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.errors import AnnotationError
from annotation.core.reasons import reason
from annotation.models import Study
from judging.models import Judge, Judgment, RationaleMark
from judging.outcomes.judgment_rows import judgment_rows
from judging.review.replaying import replay
from reporting.bundle.exporting import export_bundle
from reporting.bundle.importing import import_bundle
from reporting.bundle.layout import BadBundle
from reporting.bundle.opening import open_bundle
from reporting.bundle.records import TABLES
from reporting.bundle.storing import settings_of, store
from reporting.bundle.verifying import verify_bundle
from tests.factories import make_study
from tests.reporting.builders import findings
from tests.reporting.bundle.test_verifying import in_every_row, in_row, rewrite, stated, unpacked
from tests.whole_study import build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def without(rows: Any, *names: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def shown(study: Study) -> str:
    found = {**findings(study), "study": ""}
    for one in found["configurations"]:
        one["raters"][0]["exclusions"].pop("withdrawn")
    return json.dumps(found, sort_keys=True)


@pytest.fixture(scope="module")
def acme(module_rows: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a study with a row of every kind."""
    folder = tmp_path_factory.mktemp("bundles") / "acme"
    export_bundle(build_whole_study("acme").study, folder)
    return folder


def of_text(text: str) -> dict[str, Any]:
    return {"code": "text", "values": {"text": text}}


BELOW = reason("gold_below", share=10**400, number=1, limit=1).stored()


def test_a_bundle_whose_records_tell_another_story_makes_no_study(acme: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(acme, tmp_path / "copy")
    counts = {table.model: table.model._base_manager.count() for table in TABLES}
    turned = in_every_row(lambda row: {**row, "verdict": -row["verdict"], "strength": None, "tie_kind": ""})
    rewrite(folder, "records/rating.jsonl.gz", turned)
    with pytest.raises(BadBundle, match="differ from what follows from the rows"):
        import_bundle(folder, slug="copy")
    assert {table.model: table.model._base_manager.count() for table in TABLES} == counts
    assert not Study.objects.filter(slug="copy").exists()


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        pytest.param("display", {"pair": 10**9}, "there is no row", id="unknown row"),
        pytest.param("assignment", {"state": "dreaming"}, "state: Value 'dreaming' is not a valid choice", id="choice"),
        pytest.param(
            "annotator", {"exclusion_reason": "x" * 301}, "exclusion_reason: Ensure this value has at most", id="long"
        ),
        pytest.param("annotator", {"exclusion_reason": "x\0"}, "NUL character", id="null character"),
        pytest.param("judgment", {"failure": of_text("x\0")}, "NUL character", id="null character in a reason"),
        pytest.param("judgment", {"failure": of_text("\ud800")}, "surrogate", id="half a pair in a reason"),
        pytest.param("assignment", {"claimed_at": "yesterday"}, "claimed_at: ", id="time"),
        pytest.param("votechange", {"display": None}, "there is no row|int", id="missing key"),
        pytest.param("system", {"position": None}, "position: it is missing", id="missing value"),
        pytest.param("generation", {"index": 1}, "can't be stored", id="twice"),
        pytest.param("batch", {"selection": {"left_out": [{"x": 1}]}}, "it is not a reason", id="selection"),
        pytest.param("batch", {"selection": {"extensions": ["x"]}}, "selection can't be read", id="extensions"),
        pytest.param("event", {"changes": {"x": {"code": "x", "values": {}}}}, "it is not a reason", id="log"),
        pytest.param("event", {"changes": {"code": "", "values": {}}}, "changes can't be read", id="log is a reason"),
        pytest.param("annotator", {"block_reason": BELOW}, "it is not a reason", id="number in a reason"),
        pytest.param("tablemaking", {"record": {"samples": [{"lost": 1}]}}, "it is not a reason", id="tables lost"),
    ],
)
def test_records_that_cannot_be_are_refused(
    acme: Path, tmp_path: Path, name: str, change: dict[str, Any], reason: str
) -> None:
    folder = shutil.copytree(acme, tmp_path / "bundle")
    rewrite(folder, f"records/{name}.jsonl.gz", in_row(lambda row: {**row, **change}))
    with pytest.raises(BadBundle, match=reason):
        store(open_bundle(folder), make_study("copy", instances=0))


@pytest.mark.parametrize("name", ["slug", "group", "id", "pages"])
def test_only_settings_of_a_study_are_taken(acme: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(acme, tmp_path / "bundle")

    def with_setting(data: bytes) -> bytes:
        found = json.loads(data)
        return json.dumps({**found, "settings": {**found["settings"], name: 1}}).encode()

    rewrite(folder, "study.json", with_setting)
    with pytest.raises(BadBundle, match=f"study.json: {name} is no setting of a study"):
        settings_of(open_bundle(folder))


def test_a_judge_of_the_same_name_and_other_settings_stands_in_the_way(acme: Path) -> None:
    Judge.objects.filter(name="acme-judge").update(params={"t": 1})
    with pytest.raises(AnnotationError, match=r"a judge acme-judge here already, with other settings \(params\)"):
        import_bundle(acme, slug="copy")


def test_a_taken_name_is_refused_before_the_bundle_is_read(acme: Path, tmp_path: Path) -> None:
    slug = open_bundle(acme).manifest["study"]
    for name, refusal in ((slug, f"short name {slug} is taken"), (slug.upper(), "by case only")):
        with pytest.raises(CommandError, match=refusal):
            call_command("import_bundle", str(tmp_path), "--study", name)


def test_a_missing_verdict_keeps_its_code(small: Study, tmp_path: Path) -> None:
    why = reason("cut_off", why=reason("no_verdict_in", text="{well} 0"))
    changed = Judgment.objects.filter(run__study=small, status="unparsed").update(failure=why)
    folder = tmp_path / "bundle"
    export_bundle(small, folder)
    assert f'"reason":"{why}"' in unpacked(folder)

    unread = Judgment.objects.filter(run__study=import_bundle(folder, slug="copy"), status="unparsed")
    assert list(unread.values_list("failure", flat=True)) == [why] * changed != []
    rewrite(folder, "records/judgment.jsonl.gz", in_every_row(lambda row: {**row, "failure": {"code": "no_such"}}))
    with pytest.raises(BadBundle, match="failure: it is not a reason"):
        import_bundle(folder, slug="other")


def test_what_stays_here_is_in_no_file(small: Study, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "lean"
    failed = Judgment.objects.filter(run__study=small, status="unparsed")
    assert failed.update(failure="no verdict in: I can't say") > 0
    call_command("export_bundle", small.slug, "--out", str(out), "--without", "completions", "reasons")
    assert "without the work of raters who have withdrawn (1)" in capsys.readouterr().out
    told = unpacked(out)
    assert "as I see it" not in told
    assert "since B says more" not in told
    assert "[[A]]" not in told
    assert "I can't say" not in told
    assert '"gone"' not in told
    for kept in ("answer 1", "prompt 1", "marked so", "reader0"):
        assert kept not in told
    copy = import_bundle(out, slug="copy")
    assert shown(copy) == shown(small)
    assert not {"with_reason", "table_verdict"} & set(stated(out)["table_effect"]["arms"][1])
    assert "towards_table" not in stated(out)["table_effect"]["differences"][0]
    left = ("study", "id", "run", "pair", "rationale", "reason", "completion_keys")
    rows = without(judgment_rows(small), *left)
    assert without(judgment_rows(copy), *left) == rows  # with the tokens and milliseconds of what was left out
    assert len({row["latency_ms"] for row in rows}) > 10
    marks = RationaleMark.objects.order_by("pk").values_list("sound", "note", "marker")
    kept = list(marks.filter(judgment__run__study=copy))
    assert kept == [(sound, "", None) for sound, *_ in marks.filter(judgment__run__study=small)] != []
    answered = Judgment.objects.filter(run__study=copy).exclude(completions=None)
    assert replay(answered.earliest("pk")).steps == ()  # there is nothing to show of them


def test_a_study_with_baselines_is_written_and_read(tmp_path: Path) -> None:
    study = make_study("ruled", instances=2, k=1)
    for name in ("coin", "longer"):
        call_command("add_judge", name, method=name)
        call_command("run_judge", study.slug, judge=name)
    Judge.objects.create(name="elsewhere", method="imported", params={"label": "x"})
    export_bundle(study, tmp_path / "ruled")

    assert stated(tmp_path / "ruled")["baselines"] == ["coin", "longer"]
    verify_bundle(tmp_path / "ruled")
    assert shown(import_bundle(tmp_path / "ruled", slug="copy")) == shown(study)
