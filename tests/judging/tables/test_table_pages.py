"""The pages of comparison tables: who sees them, what they show, and that a long list costs no more queries."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.importing.tables import import_tables
from annotation.models import Annotator, Assignment, ComparisonTable, Flag, Pair, Study
from judging.models import JudgeRun, Judgment, TableCheck
from judging.tables.checked_tables import figures_by_variant
from tests.factories import signed_in
from tests.judging.builders import fill, make_batch, make_endpoint, make_judge, make_study, pairs_in
from tests.judging.tables.table_builders import exact_record, make_making, make_table, row, show

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    return make_study()


@pytest.fixture
def pairs(study: Study) -> list[Pair]:
    return pairs_in(study)


@pytest.fixture
def judgment(study: Study, pairs: list[Pair]) -> Judgment:
    run = JudgeRun.objects.create(study=study, judge=make_judge("coin"))
    return fill(run, pairs[0], "ab", verdict=-1)


def assignment_of(study: Study, pairs: list[Pair], code: str = "ann") -> Assignment:
    batch = study.batches.first() or make_batch(study, pairs)
    rater = Annotator.objects.create(study=study, code=code)
    return Assignment.objects.create(hit=batch.hits.earliest("pk"), annotator=rater, state="submitted")


def list_of(client: Client, **asked: Any) -> str:
    return text_of(client, reverse("judging:tables", args=["tea"]), asked)


def page_of(client: Client, table: ComparisonTable, **asked: Any) -> str:
    return text_of(client, reverse("judging:table", args=["tea", table.pk]), asked)


def making_of(client: Client, judgment: Judgment, **asked: Any) -> str:
    return text_of(client, reverse("judging:judgment-table", args=["tea", judgment.pk]), asked)


def text_of(client: Client, address: str, asked: dict[str, Any] | None = None) -> str:
    answer = client.get(address, asked or {})
    assert answer.status_code == 200, address
    return " ".join(answer.content.decode().split())


def test_figures_of_a_variant_by_hand(study: Study, pairs: list[Pair]) -> None:
    # A: “Heron 0 on talk 0, at length.”, B: “Wren 0 on talk 0.”
    make_table(pairs[0], [row(only_a="length sings", both="talk", only_b="heron")], made_by={"judge": "sc", "coins": 1})
    make_table(pairs[2], [row(only_a="talk", both="talk", only_b="none")], made_by={"judge": "sc", "coins": 0})
    make_table(pairs[2], [row(only_a="Only A", both="", only_b="")], table_id="other", variant="c1")
    c1, c8 = figures_by_variant(study)
    assert (c1.variant, c8.variant, c8.tables, c8.pairs, c8.checked) == ("c1", "c8", 2, 2, 2)
    # Supported: length (1 of 2), talk, talk, talk; not: heron, which is in A alone.
    assert (c8.supported.value, c8.supported.n, c8.supported.left_out) == (0.8, 5, 1)
    assert (c8.supported.low, c8.supported.n_instances) == (None, 2)
    # Of heron, 0, talk, length, wren: heron, talk, length; talk alone in the second.
    assert c8.coverage.value == pytest.approx((3 / 5 + 1 / 6) / 2)
    assert (c8.overlap.value, c8.overlap.n) == (pytest.approx(1 / 3), 3)
    assert c8.odd == {"wrong_side": 1, "copied": 2, "names_side": 0, "long": 0}
    assert (c8.same, c8.varying) == ({"judge": "sc"}, ["coins"])
    assert (c1.supported.value, c1.supported.low) == (0.0, None)


def test_only_a_sample_of_many_tables_is_checked_and_the_same_each_time(
    researcher: Client, study: Study, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.tables.checked_tables.TABLES_PER_VARIANT", 3)
    monkeypatch.setattr("judging.tables.checked_tables.MIN_TABLES", 1)
    for number in range(10):
        make_table(pairs[number % 6], [row(only_a=f"word{number % 3} talk")], table_id=f"t{number}")
    first, again = figures_by_variant(study), figures_by_variant(study)
    assert (first[0].tables, first[0].checked) == (10, 3)
    assert first == again
    assert "checks by words on 3 of them, drawn with the study’s seed" in list_of(researcher)


def test_flags_count_beside_the_tables_own_pair_only(researcher: Client, study: Study, pairs: list[Pair]) -> None:
    table, other = make_table(pairs[0], [row(), row("Tone")]), make_table(pairs[1])
    show(assignment_of(study, pairs), table, flag=1)
    show(assignment_of(study, pairs, "bob"), table, flag=1)
    show(assignment_of(study, pairs, "pia"), table, pairs[3], flag=0)  # as a placebo
    show(assignment_of(study, pairs, "tom"), table, flag=0)
    Flag.objects.filter(display__assignment__annotator__code="tom").update(taken_back_at="2024-05-01T12:00Z")
    show(assignment_of(study, pairs, "gone"), table, flag=0)
    Annotator.objects.filter(code="gone").update(withdrawn_at="2024-05-01T12:00Z")
    [figures] = figures_by_variant(study)
    assert (figures.shown, figures.flags, figures.flagged) == (3, 2, 1)
    assert "2 rows flagged <small>on 1 table, shown 3 times</small>" in list_of(researcher)
    page = page_of(researcher, table)
    assert page.count("flagged by 2 raters") == 1
    assert "<code>ann</code><code>bob</code>" in page
    assert "pia" not in page
    flagged = list_of(researcher, flagged="on")
    assert reverse("judging:table", args=["tea", table.pk]) in flagged
    assert reverse("judging:table", args=["tea", other.pk]) not in flagged


def test_list_is_narrowed_by_variant_data_set_and_systems(researcher: Client, study: Study, pairs: list[Pair]) -> None:
    first, second = make_table(pairs[0]), make_table(pairs[1], variant="c1")
    study.instances.filter(pk=pairs[5].matchup.instance_id).update(dataset="walk")
    third = make_table(pairs[5])

    def listed(**asked: str) -> list[bool]:
        page = list_of(researcher, **asked)
        return [f'href="{reverse("judging:table", args=["tea", one.pk])}"' in page for one in (first, second, third)]

    assert listed() == [True, True, True]
    assert listed(variant="c1") == [False, True, False]
    assert listed(dataset="walk") == [False, False, True]
    assert listed(systems="heron / wren") == [True, True, True]
    assert listed(variant="unheard of") == [True, True, True]


def test_queries_do_not_grow_with_the_tables(researcher: Client, study: Study, pairs: list[Pair]) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            list_of(researcher)
        return len(found)

    endpoint = make_endpoint()
    table = make_table(pairs[0], table_id="first")
    show(assignment_of(study, pairs), table, flag=0)
    scores = {"threshold": 0.5, "cells": [dict.fromkeys(("only_a", "both", "only_b"), 0.5)], "n": 3, "missing": 0}
    found = {**scores, "supported": 1.0, "support": 0.5, "coverage": 0.5, "sentences": 2}
    TableCheck.objects.create(table=table, endpoint=endpoint, model="m", found=found)
    few = queries()
    for number, variant in enumerate(["c8"] * 30 + ["c1"] * 30):
        one = make_table(pairs[number % 6], table_id=f"t{number}", variant=variant)
        TableCheck.objects.create(table=one, endpoint=endpoint, model="m", found=found)
    assert queries() == few
    page = list_of(researcher)
    assert "Page 1 of 2" in page
    assert "Cells supported by m" in page


def test_a_table_is_shown_with_texts_checks_and_makers(researcher: Client, pairs: list[Pair]) -> None:
    table = make_table(
        pairs[0], [row(only_a="wren", both="none", only_b="text A")], made_by={"judge": "sc", "items": 3}
    )
    page = page_of(researcher, table)
    assert "Heron 0 on talk 0, at length." in page
    assert "A is heron, B is wren." in page
    assert "B supports it better: 100.0%" in page
    assert "names a side" in page
    assert "<dt><code>items</code></dt>" in page
    assert page.index("Only A</th>") < page.index("Both</th>") < page.index("Only B</th>")
    assert '<section data-side="both" aria-labelledby="venn-both"> <h3 id="venn-both">Both</h3> <p>Nothing.</p>' in page


def test_a_turned_table_shows_b_on_the_left(researcher: Client, pairs: list[Pair]) -> None:
    table = make_table(pairs[0], [row(only_a="at length", both="", only_b="wren")])
    page = page_of(researcher, table, turned=1)
    assert page.index("Only B</th>") < page.index("Both</th>") < page.index("Only A</th>")
    assert page.index("Wren 0 on talk 0.") < page.index("Heron 0 on talk 0, at length.")
    body = page[page.index("<tbody") :]
    assert body.index("wren") < body.index("at length")
    assert "support 100.0%" in body
    assert "supports it better" not in body
    assert 'href="?"' in page


def test_what_a_model_found_stands_beside_the_cells(researcher: Client, pairs: list[Pair]) -> None:
    table = make_table(pairs[0], [row(only_b="")])
    cells = [{"only_a": 0.91, "both": 0.42, "only_b": None}]
    found = {"threshold": 0.6, "cells": cells, "n": 2, "missing": 1, "supported": 0.5, "support": 0.665}
    found |= {"coverage": 0.25, "sentences": 4}
    TableCheck.objects.create(table=table, endpoint=make_endpoint(), model="m<3", found=found)
    page = page_of(researcher, table)
    assert "m&lt;3: 0.91" in page
    assert "m&lt;3: 0.42" in page
    assert "coverage of sentences (4): 0.25" in page


def test_cells_that_were_stored_otherwise_are_shown(researcher: Client, pairs: list[Pair]) -> None:
    table = make_table(pairs[0], [{"aspect": "x", "only_a": ["length", "talk"], "both": [], "only_b": None}])
    assert "length; talk" in page_of(researcher, table)


def test_making_shows_bracket_rejected_and_lost(researcher: Client, pairs: list[Pair], judgment: Judgment) -> None:
    table = make_table(pairs[0])
    make_making(judgment, table)
    page = page_of(researcher, table)
    assert re.findall(r"<strong>table (\d)</strong> won", page) == ["2", "4"]
    assert "&lt;i&gt;holds&lt;/i&gt;" in page
    assert "&lt;b&gt;sorry&lt;/b&gt;" in page
    assert "aspects 3, table 4, comparator 2, verdict 1; budget 9" in page
    assert reverse("judging:judgment", args=["tea", judgment.pk]) in page


def test_every_pair_both_ways_shows_the_duels_won(
    researcher: Client, study: Study, pairs: list[Pair], judgment: Judgment
) -> None:
    make_making(judgment, **exact_record())
    page = making_of(researcher, judgment)
    standings = page[page.index("Duels won") : page.index("Round 1")]
    assert [standings.index(f'<th scope="row">{number}') for number in (3, 2, 1)] == sorted(
        standings.index(f'<th scope="row">{number}') for number in (1, 2, 3)
    )
    assert '<td class="num">4</td>' in standings
    page = making_of(researcher, judgment, turned=1)
    rejected = page[page.index("Tables that were rejected") :]
    assert rejected.index("Only B</th>") < rejected.index("Only A</th>")


def test_judgment_leads_to_its_table_and_the_table_to_the_others(
    researcher: Client, pairs: list[Pair], judgment: Judgment
) -> None:
    address = reverse("judging:judgment-table", args=["tea", judgment.pk])
    bare = text_of(researcher, reverse("judging:judgment", args=["tea", judgment.pk]))
    assert address not in bare
    table = make_table(pairs[0])
    make_making(judgment, table)
    other = fill(judgment.run, pairs[0], "ba", verdict=1)
    make_making(other, table)
    assert address in text_of(researcher, reverse("judging:judgment", args=["tea", judgment.pk]))
    assert reverse("judging:table", args=["tea", table.pk]) in making_of(researcher, judgment)
    page = page_of(researcher, table)
    assert reverse("judging:judgment-table", args=["tea", other.pk]) in page
    assert "2 judgments with a table, 2 of them with one that people can be shown" in list_of(researcher)


def test_file_holds_what_can_be_read_again(
    researcher: Client, study: Study, pairs: list[Pair], judgment: Judgment
) -> None:
    make_table(pairs[1], table_id="b", variant="c1")
    table = make_table(pairs[0], table_id="a", made_by={"judge": "sc"})
    make_making(judgment, table)

    def lines(**asked: str) -> list[dict[str, Any]]:
        answer: Any = researcher.get(reverse("judging:tables-file", args=["tea"]), asked)
        data = b"".join(answer.streaming_content)
        assert import_tables(data=data, name="f", slug="tea")[1] == 0
        return [json.loads(line) for line in data.decode().splitlines()]

    assert [line["table_id"] for line in lines()] == ["a", "b"]
    assert [line["table_id"] for line in lines(variant="c1")] == ["b"]
    assert ["making" in line for line in lines(makings="1")] == [True, False]


def test_address_of_no_table_is_not_found(researcher: Client) -> None:
    for number in ("0", "99999999999999999999999"):
        assert researcher.get(f"/studies/tea/tables/{number}/").status_code == 404


def test_admin_shows_records_and_changes_none(pairs: list[Pair], judgment: Judgment) -> None:
    found = make_making(judgment, make_table(pairs[0]))
    client = signed_in(User.objects.create_superuser("root"))
    address = reverse("admin:judging_tablemaking_changelist")
    assert client.get(address).status_code == 200
    shown = client.get(reverse("admin:judging_tablemaking_change", args=[found.pk]))
    assert shown.status_code == 200
    assert b'name="_save"' not in shown.content
    assert client.get(f"{address}add/").status_code == 403
