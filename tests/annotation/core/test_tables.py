"""The template tags that write tables."""

from typing import Any

from django.template import engines

from annotation.core.tables import Column, DataTable, table_text

ROWS = """{% load tables %}
{% table name, number in rows css="stack" name="names" row_class=number|yesno:"gone," %}
  {% column "Name" scope="row" %}{{ name }}{% endcolumn %}
  {% if numbers %}
    {% column heading class="num" %}{{ number }}{% endcolumn %}
  {% endif %}
{% empty %}
  nothing
{% endtable %}"""


def written(**context: Any) -> str:
    """Return the HTML of a table without spaces between its elements."""
    return " ".join(engines["django"].from_string(ROWS).render(context).split()).replace("> <", "><")


def test_columns_are_declared_once_and_may_depend_on_the_page() -> None:
    html = written(rows=[("<b>", 1), ("c", 0)], numbers=True, heading="n & m")
    head, body = html.split("<tbody>")
    assert head == (
        '<div class="scroll"><table class="stack" id="names"><thead><tr>'
        '<th scope="col">Name</th><th class="num" scope="col">n &amp; m</th></tr></thead>'
    )
    assert body == (
        '<tr class="gone"><th scope="row">&lt;b&gt;</th><td class="num" data-label="n &amp; m">1</td></tr>'
        '<tr><th scope="row">c</th><td class="num" data-label="n &amp; m">0</td></tr></tbody></table></div>'
    )
    assert "num" not in written(rows=[("c", 0)])


def test_table_without_rows_is_replaced() -> None:
    assert written(rows=[]) == written(rows=None) == "nothing"


def test_terminal_breaks_lines_itself_and_gets_no_control_characters() -> None:
    nbsp, joiner = "\N{NO-BREAK SPACE}", "\N{WORD JOINER}"
    estimate = {"value": 0.5, "low": None, "high": None, "about": f"rank 1{nbsp}(1{joiner}–{joiner}2)"}
    rows = [(("one\x1b",), [estimate]), (("two",), [f"p{nbsp}= 0.8"])]
    table = DataTable("ranks", f"p{nbsp}= 0.807", ["", Column("Rate")], rows)

    lines = table_text(table).splitlines()

    assert lines[0] == "p = 0.807"
    assert lines[2].lstrip().startswith("one�")
    assert "rank 1 (1–2)" in lines[2]
    assert lines[3].split() == ["two", "p", "=", "0.8"]
    assert lines[2].index("0.5") == lines[3].index("p =")


def test_terminal_keeps_the_rows_of_a_table_of_systems_by_systems() -> None:
    rows = [((name,), [None if name == other else f"{name} over {other}" for other in "ABC"]) for name in "ABC"]

    lines = table_text(DataTable("wins", "Wins of the row", ["System", *"ABC"], rows)).splitlines()

    assert [line.split()[0] for line in lines[1:]] == ["System", *"ABC"]
    assert lines[2].split(maxsplit=2)[2].startswith("A over B")
    assert "B over" not in lines[2]
    assert "B over A" in lines[3]


def test_terminal_writes_few_rows_beside_their_headings() -> None:
    rows = [(("low",), [1, 2]), (("high",), [3, 4])]

    lines = table_text(DataTable("bins", "Bins", ["Bin", "People", "Judge"], rows)).splitlines()

    assert [line.split() for line in lines[1:]] == [["Bin", "low", "high"], ["People", "1", "3"], ["Judge", "2", "4"]]
