"""Generations as Markdown on a card: safe, and never out of proportion to their text."""

from html import unescape
from typing import Any

import pytest
from django.utils import timezone

from annotation.allocation.claims import claim_hit
from annotation.core import markdown
from annotation.core.markdown import render_generation
from annotation.models import Study
from annotation.rating import presenters
from annotation.rating.presenters import displays_of, second_page
from annotation.rating.second_stage import reveal
from annotation.rating.votes import lock_first_votes, save_vote
from tests.factories import make_annotator, make_batch, make_study

MOST_GROWTH = 20  # characters of HTML for one of text

WIDE = "|a" * 2000 + "|\n" + "|-" * 2000 + "|\n" + "x\n" * 500
MANY_TABLES = ("|a" * 100 + "|\n" + "|-" * 100 + "|\n" + "x\n" * 40 + "\n") * 25
QUOTED_TABLE = "> - " + "|a" * 900 + "|\n>   " + "|-" * 900 + "|\n" + ">   x\n" * 900
DEEP_QUOTES = (">" * 19 + "a\n\n") * 800
DEEP_LISTS = "".join(" " * 2 * depth + f"- word{depth}\n" for depth in range(40))
MANY_LINKS = "[x]: http://a/" + "b" * 9000 + "\n\n" + "[x] ![x] " * 1500


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WIDE, id="wide-table"),
        pytest.param(MANY_TABLES, id="many-tables"),
        pytest.param(QUOTED_TABLE, id="quoted-table"),
        pytest.param(DEEP_QUOTES, id="quotes"),
        pytest.param(MANY_LINKS, id="links"),
        pytest.param("<" * 18_000, id="escapes"),
    ],
)
def test_no_text_grows_out_of_proportion(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    cleaned: list[int] = []
    clean = markdown.nh3.clean

    def counted(html: str, **options: Any) -> str:
        cleaned.append(len(html))
        return clean(html, **options)

    monkeypatch.setattr(markdown.nh3, "clean", counted)
    html = render_generation(text)
    assert max([len(html), *cleaned]) < MOST_GROWTH * len(text)


@pytest.mark.parametrize("text", ["```\n```\n" * 2000, "    x\n\na\n\n" * 2000], ids=["fences", "indented"])
def test_boxes_for_code_do_not_outgrow_their_text(text: str) -> None:
    html = render_generation(text)
    assert len(html) < 5 * len(text)
    assert "tabindex" not in html  # thousands of stops for the Tab key


def test_an_answer_of_many_short_commands_is_rendered() -> None:
    assert render_generation("Run this:\n\n```\nls -l\n```\n\n" * 60).count("<pre>") == 60


@pytest.mark.parametrize("text", [WIDE, MANY_TABLES, QUOTED_TABLE])
def test_a_table_that_would_grow_is_not_even_read(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(markdown._generation_renderer(), "parse", lambda *given: pytest.fail("read"))
    assert render_generation(text) == f'<div class="preserve">{text}</div>'.replace(">   ", "&gt;   ").replace(
        "> - ", "&gt; - "
    )


@pytest.mark.parametrize("text", [DEEP_LISTS, ">" * 30 + " word0", "- " * 30 + "word0"])
def test_no_word_is_lost_by_deep_nesting(text: str) -> None:
    html = unescape(render_generation(text))
    assert text in html
    assert html.startswith('<div class="preserve">')


def test_what_is_not_rendered_is_escaped() -> None:
    assert "<script" not in render_generation(WIDE + "\n\n<script>alert(1)</script>")


def test_usual_texts_are_rendered() -> None:
    table = "| System | Score |\n|:--|--:|\n" + "".join(f"| system {row} | {row}.5 |\n" for row in range(200))
    html = render_generation(
        f"# Title\n\nSome **bold** words, `code`.\n\n{table}\n\n- one\n  - two\n    - three\n\n> said"
    )
    assert html.count("<td>") == 400
    for part in ("<h4>Title</h4>", "<strong>bold</strong>", "<blockquote>", "<li>three</li>"):
        assert part in html


def test_a_long_text_of_usual_markdown_is_rendered() -> None:
    text = "Some **bold** text with a [link](http://x.y/z) and `code`.\n\n- one\n- two\n\n" * 300
    html = render_generation(text)
    assert html.count("<strong>bold</strong>") == 300
    assert "http://x.y" not in html


@pytest.fixture
def markdown_study(db: None) -> Study:
    """One HIT of three pairs, in two stages, of texts with Markdown."""
    study = make_study(instances=1, k=3, protocol="two-stage", arms=["none"], render_markdown=True)
    make_batch(study, pairs=3, raters=1)
    return study


@pytest.mark.slow
def test_the_second_stage_renders_the_open_pair_only(monkeypatch: pytest.MonkeyPatch, markdown_study: Study) -> None:
    now = timezone.now()
    assignment = claim_hit(annotator=make_annotator(markdown_study, "ann"), at=now)
    for display in displays_of(assignment):
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=now)
    assignment = lock_first_votes(assignment=assignment, at=now)
    shown: list[str] = []

    def noted(text: str, *, rendered: bool, math: bool) -> str:
        assert (rendered, math) == (True, False)
        shown.append(text)
        return text

    monkeypatch.setattr(presenters, "shown_text", noted)
    monkeypatch.setattr(markdown, "shown_text", noted)  # of both texts of a pair
    context: Any = second_page(assignment, now, reveal(assignment=assignment, at=now))
    assert len(shown) == 3  # of the pair that is open, and the source
    assert [bool(second.card.left) for second in context["cards"]] == [True, False, False]
    assert [second.first for second in context["cards"]] == ["left"] * 3
