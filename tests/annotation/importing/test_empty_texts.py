"""An empty text is a fact about its system: it is imported, shown as such, rated and counted."""

from dataclasses import replace
from typing import Any

import pytest
from django.urls import reverse

from annotation.core.markdown import is_blank, shown_text
from annotation.importing.formats.mturk import parse_mturk
from annotation.importing.study_files import import_study, summary
from annotation.models import Rating, Study
from tests.annotation.importing.test_study_file import study_line
from tests.factories import (
    add_instances,
    claim,
    csv_file,
    instance_rows,
    json_lines,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    mturk_row,
    rate,
    signed_in,
)

NO_TEXT = '<em class="no-text">(no text)</em>'


def with_empty(**settings: Any) -> Study:
    """Make a study of one instance, of whose two pairs the first has an empty text of beta."""
    study = make_study(instances=0, **settings)
    (row,) = instance_rows(instances=1)
    return add_instances(study, [replace(row, generations={"alpha": ["One.", "Two."], "beta": ["", "Four."]})])


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        *(("", True), (" \n\t", True), ("\u200b\u00a0", True), ("0", False), ("(no text)", False), ("👍🏽", False)),
        *(("\u2800 \u2800", True), ("\u3164", True), ("\u115f\u1160\uffa0", True), ("\ufe0f\u034f\U000e0100", True)),
        *(("\u0903", False), ("\u28ff", False), ("한", False)),
    ],
)
def test_text_is_blank_when_a_reader_sees_nothing_of_it(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("", NO_TEXT, id="empty"),
        pytest.param("![](https://example.com/who.png)", NO_TEXT, id="a picture without words"),
        pytest.param("&#8203;&nbsp;&#x3164;", NO_TEXT, id="invisible characters by number"),
        pytest.param("```\n\n```", NO_TEXT, id="code without any"),
        pytest.param("&lt;", "<p>&lt;</p>\n", id="a sign"),
        pytest.param("[a]: https://example.com", NO_TEXT, id="a definition of a link alone"),
        pytest.param("**x**", "<p><strong>x</strong></p>\n", id="words"),
        pytest.param("---", "<hr>\n", id="a line"),
    ],
)
def test_rendered_text_without_anything_to_see_is_named(text: str, shown: str) -> None:
    assert shown_text(text, rendered=True) == shown


def test_words_of_a_text_that_say_the_same_are_told_apart() -> None:
    assert shown_text("(no text)") == "(no text)"
    assert shown_text('<em class="no-text">(no text)</em>', rendered=True) != NO_TEXT


@pytest.mark.django_db
def test_import_keeps_empty_texts_and_says_how_many() -> None:
    lines = [
        study_line(instance_id="i1", generations={"alpha": ["a", ""], "beta": ["b", "c"]}),
        study_line(instance_id="i2", source="Another.", generations={"alpha": [" "], "beta": ["b"]}),
    ]

    study, stored = import_study(data=json_lines(lines), name="f.jsonl", slug="s", task_kind="summarization")

    assert summary("f.jsonl", study, stored).text == (
        "f.jsonl: 2 instances added, 2 empty texts, shown as “(no text)” (study s)"
    )
    texts = study.instances.get(instance_id="i1").generations.filter(system__name="alpha").order_by("index")
    assert list(texts.values_list("text", flat=True)) == ["a", ""]


def test_mturk_results_may_have_an_empty_text() -> None:
    (row,) = parse_mturk(csv_file([{**mturk_row("W1"), "Input.model1_summary2": ""}]), "f.csv")

    assert "" in (row.pairs[1].text_1, row.pairs[1].text_2)


@pytest.mark.django_db
@pytest.mark.parametrize("rendered", [False, True])
def test_raters_and_researchers_see_that_there_is_no_text_and_raters_may_vote(rendered: bool) -> None:
    study = with_empty(render_markdown=rendered)
    make_batch(study, pairs=2)
    annotator = make_annotator(study)
    assignment = claim(annotator)
    instance = reverse("annotation:instance", args=[study.slug, study.instances.get().pk])

    for who, page in (
        (annotator, reverse("annotation:hit", args=[assignment.key])),
        (make_user("rhea", "researcher"), instance),
    ):
        assert signed_in(who).get(page).text.count(NO_TEXT) == 1
    rate(assignment)
    assert Rating.objects.count() == 2
