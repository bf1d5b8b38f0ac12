"""A batch as files for MTurk's requester site."""

import csv
import html
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.batches.services import set_batch_status
from annotation.core.errors import InvalidSelection, UnknownName
from annotation.importing.formats.mturk import parse_mturk
from annotation.models import Batch, Study
from annotation.recruitment.mturk.export import export_batch, fill
from annotation.recruitment.mturk.sheet import cell
from tests.annotation.recruitment.mturk.offline import (
    ask_all,
    export,
    make,
    nasty_study,
    result,
    stored_study,
    study,
    with_settings,
)
from tests.factories import claim, csv_file, make_annotator, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
__all__ = ["stored_study", "study"]


# What is written


def test_a_row_holds_what_the_results_import_reads_and_the_opaque_key(study: Study) -> None:
    rows, _, sheet = export(study)

    assert list(rows[0]) == [
        *("hit", "source", "model1_summary1", "model2_summary1", "id1", "model1_summary2", "model2_summary2", "id2")
    ]
    assert [row["hit"] for row in rows] == list(
        study.batches.get().hits.order_by("position").values_list("key", flat=True)
    )
    assert (sheet.hits, sheet.assignments, sheet.seed) == (3, 2, 1)
    assert sheet.csv.startswith(b"hit,")


def test_the_columns_are_those_of_the_existing_import(study: Study) -> None:
    rows, _, _ = export(study)

    (parsed,) = parse_mturk(csv_file([result(rows[0])]), "f.csv")

    assert [pair.first_is_1 for pair in parsed.pairs] == [rows[0][f"id{place}"] == "1" for place in (1, 2)]


def test_the_id_says_whose_text_is_shown_first(study: Study) -> None:
    alphas = set(study.systems.get(name="alpha").generations.values_list("text", flat=True))

    for row in export(study)[0]:
        for place in ("1", "2"):
            assert (row[f"model1_summary{place}"] in alphas) == (row[f"id{place}"] == "1")
            assert (row[f"model2_summary{place}"] in alphas) == (row[f"id{place}"] == "2")


def test_sides_are_balanced_and_the_same_at_each_export() -> None:
    study = make("other", instances=20)

    first, second = export(study)[2], export(study)[2]

    assert (first.csv, first.page) == (second.csv, second.page)
    firsts = [row["id1"] for row in export(study)[0]]
    assert 3 < firsts.count("1") < 17
    assert all(row["id1"] != row["id2"] for row in export(study)[0])


def test_another_seed_draws_other_sides() -> None:
    study = make("other", instances=20)
    before = export(study)[2].csv
    Batch.objects.update(seed=2)

    assert export(study)[2].csv != before


def test_hits_that_are_full_are_left_out() -> None:
    study = make("other", raters=1)
    Batch.objects.update(status="open")
    rate(claim(make_annotator(study)))
    set_batch_status(batch=study.batches.get(), status="paused")

    rows, _, _ = export(study)

    assert len(rows) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"status": "open"}, "pause it first"),
        ({"purpose": "gold"}, "hidden checks"),
        ({"origin": "imported"}, "imported"),
    ],
)
def test_a_batch_that_cannot_be_rated_there_is_refused(study: Study, change: dict[str, str], told: str) -> None:
    Batch.objects.update(**change)

    with pytest.raises(InvalidSelection, match=told):
        export(study)


def test_a_second_stage_cannot_be_shown_there(study: Study) -> None:
    Study.objects.update(protocol="two-stage", arms=["none"])

    with pytest.raises(InvalidSelection, match="second stage"):
        export(Study.objects.get(pk=study.pk))


def test_an_unknown_batch_is_named(study: Study) -> None:
    with pytest.raises(UnknownName, match="'other'"):
        export_batch(study=study, name="other")


# The page


class _Page(HTMLParser):
    """Collects a page's elements and inputs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.inputs: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "input":
            self.inputs.append(dict(attrs))


def test_the_page_uses_the_texts_and_neither_who_wrote_them_nor_the_key(study: Study) -> None:
    _, page, _ = export(study)

    assert set(re.findall(r"\$\{(\w+)\}", page)) == {
        *("source", "model1_summary1", "model2_summary1", "model1_summary2", "model2_summary2")
    }
    assert "alpha" not in page
    assert "beta" not in page


def test_the_page_asks_for_every_answer_and_for_consent(study: Study) -> None:
    _, page, _ = export(study)

    inputs = _Page(page).inputs
    assert [(one["name"], one["value"]) for one in inputs] == [
        ("consent", "yes"),
        *[(f"pref{place}", value) for place in (1, 2) for value in ("-1", "0", "1")],
    ]
    assert all("required" in one for one in inputs)


def test_the_page_offers_no_preference_only_where_the_study_does(study: Study) -> None:
    _, page, _ = export(with_settings(study, ties_allowed=False))

    assert {one["value"] for one in _Page(page).inputs if one["name"] == "pref1"} == {"-1", "1"}


def test_the_page_stands_alone_inside_mturks_form(study: Study) -> None:
    _, page, _ = export(study)

    tags = _Page(page).tags
    assert not {"form", "script", "link", "img", "iframe"} & set(tags)
    assert "http" not in page


def test_the_studys_words_are_escaped_and_begin_no_placeholder(study: Study) -> None:
    study = with_settings(
        study,
        question="<b>Which</b> ${id1}?",
        guidelines="Costs ${id1} <script>x</script>",
        label_left="L ${hit}",
        contact="a<b",
    )

    _, page, _ = export(study)

    assert "id1" not in re.findall(r"\$\{(\w+)\}", page)
    assert "&lt;b&gt;Which&lt;/b&gt; &#36;{id1}?" in page
    assert "<script" not in page
    assert "a&lt;b" in page


def test_no_text_breaks_out_of_the_page_or_fills_another_placeholder() -> None:
    rows, page, _ = export(nasty_study())

    filled = fill(page, rows[0])

    assert "${" not in filled
    assert _Page(filled).tags == _Page(page).tags
    assert html.unescape(filled).count('<script>alert("x")</script>') == 2
    assert "alpha" not in filled


def test_no_cell_holds_a_line_break_a_formula_or_a_character_that_mturk_refuses() -> None:
    rows, _, sheet = export(nasty_study())

    for value in rows[0].values():
        assert not re.search(r"[\n\r\x00-\x08]|[^\u0000-\uffff]", value)
        assert value[0] not in "=+-@"
        assert value == value.strip()
    assert sheet.csv.count(b"\n") == 2


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a", "a"),
        ("", ""),
        ("a\r\nb\rc\n", "a&#10;b&#10;c&#10;"),
        ("=1", "&#61;1"),
        (" a ", "&#32;a&#32;"),
        ("<&>\"'", "&lt;&amp;&gt;&quot;&#x27;"),
        ("${x}", "&#36;{x}"),
        ("😀", "&#128512;"),
        ("é漢", "é漢"),
        ("&amp;", "&amp;amp;"),
    ],
)
def test_a_text_becomes_html_that_shows_it(text: str, written: str) -> None:
    assert cell(text) == written
    assert html.unescape(written) == text.replace("\r\n", "\n").replace("\r", "\n")


def test_markdown_is_rendered_where_the_study_does_so(study: Study) -> None:
    study = with_settings(study, render_markdown=True)
    study.systems.get(name="alpha").generations.update(text="**bold** ${hit}\n\n- one <script>x</script>")

    rows, page, _ = export(study)

    filled = fill(page, rows[0])
    assert "<strong>bold</strong>" in filled
    assert "<script" not in filled
    assert "${" not in filled


def test_a_page_that_mturk_will_not_take_is_named() -> None:
    study = make("other", instances=2)
    instance = study.instances.first()
    assert instance is not None
    instance.source = "x" * 70_000
    instance.save()

    sheet = export(study)[2]

    assert sheet.too_long == [study.batches.get().hits.get(matchup__instance=instance).key]


# The commands


def test_the_commands_write_and_read_back(study: Study, tmp_path: Path, capsys: Any) -> None:
    Batch.objects.update(status="draft")
    folder = tmp_path / "out"

    call_command("mturk_export", "study", "--batch", "batch", "--to", str(folder))
    told = json.loads(capsys.readouterr().out)
    assert (told["hits"], told["assignments_per_hit"], told["too_long"]) == (3, 2, [])
    rows = list(csv.DictReader(io.StringIO((folder / "hits.csv").read_bytes().decode(), newline="")))
    results = tmp_path / "results.csv"
    results.write_bytes(csv_file([result(rows[0])]))
    call_command("mturk_import", "study", str(results), "--batch", "batch")

    assert json.loads(capsys.readouterr().out)["added"] == 1
    assert "<form" not in (folder / "template.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made_is_told(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(CommandError, match="can't be written to"):
        call_command("mturk_export", "study", "--batch", "batch", "--to", str(tmp_path / "file"))


# Several questions, strengths, kinds of ties, reasons


def test_the_page_asks_every_question_of_each_pair(study: Study) -> None:
    _, page, _ = export(ask_all(study, first_reason="required", first_reason_min_length=7))

    shown = _Page(page)
    assert [(one["name"], one["value"]) for one in shown.inputs if one["name"].startswith("pref1")] == [
        *[("pref1", value) for value in ("-2", "-1", "0", "1", "2")],
        *[("pref1_fluency", value) for value in ("-1", "0good", "0bad", "1")],
    ]
    assert "Read &#36;5 &lt;b&gt;aloud&lt;/b&gt;." in page
    assert page.count('minlength="7"') == page.count('name="reason') == 2
    assert "Why?" in page


@pytest.mark.parametrize(("first_reason", "fields"), [("off", 0), ("optional", 2)])
def test_an_optional_reason_may_stay_empty_and_none_is_asked_by_default(
    study: Study, first_reason: str, fields: int
) -> None:
    _, page, _ = export(ask_all(study, first_reason=first_reason))

    assert page.count("<textarea") == fields
    assert "minlength" not in page
