"""SC² with examples that have tables: of the verdict, and of the comparator."""

from typing import Any

import pytest

from judging.core.errors import BadSettings
from judging.methods import Call, Setting, find_method
from judging.methods.sc2.comparator import spoil
from judging.methods.sc2.record import TableRow
from judging.methods.task_files import find_task
from judging.models import Completion, Judgment
from judging.review.replaying import replay
from judging.runs.estimates import estimate
from tests.fakes import Body, ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study
from tests.judging.methods.procedures import Played, content, play, shown
from tests.standin.tables import table_answer

ASKED: dict[str, Any] = {"samples": 2, "scheme": "tournament"}
EXAMPLES = find_task("summarization").examples


def row(only_a: str = "", both: str = "", only_b: str = "") -> TableRow:
    return {"aspect": "tone", "only_a": only_a, "both": both, "only_b": only_b}


def answer(call: Call) -> str:
    return table_answer(content(call), seed=call.draw) or "Preferred: A"


def played(**options: Any) -> Played:
    return play("sc2", answer, shown("summarization"), **ASKED, **options)


def by_kind(found: Played) -> dict[str, list[Call]]:
    kinds: dict[str, list[Call]] = {}
    for call in found.calls:
        kinds.setdefault(call.kind, []).append(call)
    return kinds


def test_examples_of_the_verdict_have_tables_that_the_model_has_made() -> None:
    found = played(shots=2, example_tables=True)
    assert found.kinds() == [["table"] * 2, ["table"] * 2, ["comparator"], ["verdict"]]
    assert [call.reusable for call in found.calls] == [True, True, False, False, False, False]
    of_examples = [content(call) for call in found.rounds[0]]
    assert all(one.first in text and "the first" not in text for one, text in zip(EXAMPLES, of_examples, strict=False))
    verdict = content(found.calls[-1])
    assert "with their tables" in verdict
    assert verdict.count("what holds for Summary A alone") == 3  # of two examples, and of the pair
    assert verdict.count("grade") == 3
    comparator = content(by_kind(found)["comparator"][0])
    assert "Example 1" not in comparator
    assert "without a table" in content(played(shots=2).calls[-1])


def test_comparator_is_shown_a_table_and_the_same_table_spoiled() -> None:
    found = played(comparator_shots=2)
    comparator, verdict = content(by_kind(found)["comparator"][0]), content(found.calls[-1])
    assert ("Example 2." in comparator, "Example 1" in verdict) == (True, False)
    assert "Answer:\nChoice: 1\nReason: Table 2 gives the same to both and to A alone." in comparator
    assert "Answer:\nChoice: 2\nReason: Table 1 gives the same to both and to A alone." in comparator
    assert comparator.count("Table 1:") == comparator.count("Table 2:") == 3
    assert comparator.index("Example 1.") < comparator.index("Now it is your turn.") < comparator.index("the first\n")


def test_example_whose_table_can_not_be_read_is_shown_without_one() -> None:
    def unreadable(call: Call) -> str:
        return "No table." if EXAMPLES[0].first in content(call) and call.kind == "table" else answer(call)

    found = play("sc2", unreadable, shown("summarization"), **ASKED, shots=2, example_tables=True, comparator_shots=2)
    comparator, verdict = content(by_kind(found)["comparator"][0]), content(found.calls[-1])
    assert (EXAMPLES[0].first in comparator, EXAMPLES[1].first in comparator) == (False, True)
    assert EXAMPLES[0].first in verdict
    assert verdict.count("what holds for Summary A alone") == 2


@pytest.mark.parametrize(
    ("rows", "spoiled"),
    [
        pytest.param([row(both="x")], [row("x", "x")], id="what both have"),
        pytest.param([row("a"), row("b", "x", "c")], [row("a"), row("b; x", "x", "c")], id="beside what A has alone"),
        pytest.param([row(), row("a", "", "b")], [row(), row("a", "a", "b")], id="nothing under both"),
        pytest.param([row("", "", "b")], [row("b", "b", "b")], id="B alone"),
    ],
)
def test_spoiled_table_gives_the_same_to_both_and_to_one(rows: list[TableRow], spoiled: list[TableRow]) -> None:
    assert spoil(rows) == spoiled


def test_versions_name_the_files_that_are_shown() -> None:
    method = find_method("sc2")
    few = Setting(options={"shots": 1, "example_tables": True, "comparator_shots": 1})
    assert method.prompt_version("summarization", few) == (
        "sc2-table.v2+example-comparator.v1+sc2-comparator-few-shot.v1+example-table.v1+sc2.v2+summarization.v1"
    )
    with pytest.raises(BadSettings, match="set shots"):
        method.check("free", Setting(options={"example_tables": True}))
    with pytest.raises(BadSettings, match="leave out comparator_shots"):
        method.check("free", Setting(options={"comparator_shots": 2}, table_variant="big"))


@pytest.mark.slow
@pytest.mark.django_db
def test_tables_of_examples_are_made_once_for_all_pairs() -> None:
    def reply(body: Body) -> str:
        return table_answer(body["messages"][-1]["content"], seed=body["seed"]) or "Preferred: A"

    params = {**ASKED, "shots": 2, "example_tables": True, "comparator_shots": 3}
    judge, study = make_judge("sc2", endpoint=make_endpoint(), params=params), make_study(instances=4, k=1)
    expected = {kind.kind: kind.calls for kind in estimate(study=study, judge=judge).kinds}
    assert judge_with(ScriptedClient(then=reply), study, judge).status == "done"
    kinds = list(Completion.objects.values_list("kind", flat=True))
    made = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    assert made == expected == {"comparator": 4, "table": 4 * 2 + 3, "verdict": 4}
    found = list(Judgment.objects.all())
    assert {one.status for one in found} == {"parsed"}
    assert {step.status for step in replay(found[-1]).steps} == {"read"}
