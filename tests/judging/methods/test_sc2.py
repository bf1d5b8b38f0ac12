"""The SC² judge: which calls it makes, what it keeps of them, and what becomes of answers that can't be read."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from analysis.types import Verdict
from judging.core.errors import BadSettings, UnparsedVerdict
from judging.methods import Call, Setting
from judging.methods.sc2.record import winning_rows
from tests.judging.methods.procedures import Played, asking, content, play, shown

GRADES = {0: 3, 1: 9, 2: 1, 3: 7, 4: 5, 5: 2, 6: 8, 7: 4}  # of the samples, by draw: the second is the best


def table(call: Call, grade: int) -> str:
    form = re.search(r"begin\]\n(\{\"rows\": .*?\})\n\[", content(call), re.DOTALL)
    assert form is not None
    aspects = [row["aspect"] for row in json.loads(form[1])["rows"]]
    row = {"only_a": "what A alone says", "both": f"grade {grade}", "only_b": "what B alone says"}
    return json.dumps({"rows": [{"aspect": aspect, **row} for aspect in aspects]})


def graded(call: Call) -> str:
    """Answer as a model whose comparator goes by the grade."""
    if call.kind == "table":
        return table(call, GRADES[call.draw % 8])
    if call.kind == "comparator":
        first, *_, second = map(int, re.findall(r"grade (\d+)", content(call)))
        return f"Choice: {1 if first > second else 2}\nReason: the higher grade"
    if call.kind == "aspects":
        return "Aspects:\n- tone\n- accuracy\n" + ("- length\n" if call.draw else "")
    return "Comparison: it is better.\nPreferred: A"


def record_of(played: Played) -> Any:
    assert played.outcome is not None
    assert played.outcome.made is not None
    return played.outcome.made


@pytest.mark.parametrize(("scheme", "calls"), [("tournament", 7), ("exact", 56), ("random", 0)])
def test_comparator_calls_are_counted_and_the_best_table_wins(scheme: str, calls: int) -> None:
    played = play("sc2", graded, scheme=scheme)
    kinds = Counter(call.kind for call in played.calls)
    assert kinds == Counter({"table": 8, "comparator": calls, "verdict": 1})
    record = record_of(played)
    assert record["calls"] == {"aspects": 0, "table": 8, "comparator": calls, "verdict": 1}
    assert record["coins"] == 0
    if scheme != "random":
        assert record["winner"] == 1
        assert "grade 9" in content(played.calls[-1])
    assert f"grade {GRADES[record['winner']]}" in content(played.calls[-1])


def test_every_duel_is_a_question_of_its_own_even_between_equal_tables() -> None:
    played = play(
        "sc2", lambda call: table(call, 5) if call.kind == "table" else graded(call), scheme="exact", samples=4
    )
    duels = [(content(call), call.draw) for call in played.calls if call.kind == "comparator"]
    assert len(set(duels)) == len(duels) == 12


def test_both_presentations_share_the_calls_of_their_table_and_turn_it() -> None:
    one, other = (
        play("sc2", graded, shown(first=first, second=second)) for first, second in (("red", "blue"), ("blue", "red"))
    )
    made = [
        [(call.kind, content(call), call.draw) for call in played.calls if call.kind != "verdict"]
        for played in (one, other)
    ]
    assert made[0] == made[1]
    rows = [winning_rows(record_of(played))[0] for played in (one, other)]
    assert rows[0] == {**rows[1], "only_a": rows[1]["only_b"], "only_b": rows[1]["only_a"]}
    assert {record_of(one)["asked_first"], record_of(other)["asked_first"]} == {"a", "b"}
    for played, row in zip((one, other), rows, strict=True):
        assert f"only A: {row['only_a']}" in content(played.calls[-1])


def test_samples_that_cannot_be_read_are_lost_and_not_asked_for_again() -> None:
    def answer(call: Call) -> str:
        return "no table at all" if call.kind == "table" and call.draw in (1, 4, 6) else graded(call)

    played = play("sc2", answer)
    record = record_of(played)
    assert [("rows" in sample) for sample in record["samples"]] == [draw not in (1, 4, 6) for draw in range(8)]
    assert record["samples"][1]["lost"] == {"code": "no_table_in", "values": {"text": "no table at all"}}
    assert record["wins"][1] is None
    assert (record["winner"], record["calls"]["comparator"]) == (3, 4)
    assert all(call.attempts == 1 for call in played.calls if call.kind in ("table", "comparator"))


@pytest.mark.parametrize(("samples", "readable", "enough"), [(8, 2, True), (8, 1, False), (2, 1, False), (8, 0, False)])
def test_fewer_than_two_tables_leave_the_pair_without_a_verdict(samples: int, readable: int, enough: bool) -> None:
    def answer(call: Call) -> str:
        return "nothing" if call.kind == "table" and call.draw >= readable else graded(call)

    if enough:
        assert record_of(play("sc2", answer, samples=samples))["calls"]["comparator"] == readable - 1
        return
    with pytest.raises(UnparsedVerdict, match=f"{samples - readable} of {samples} tables could not be read"):
        play("sc2", answer, samples=samples)


def test_single_table_is_asked_for_again_like_any_question() -> None:
    played = play("sc2", graded, samples=1)
    [call] = [call for call in played.calls if call.kind == "table"]
    assert (call.optional, call.attempts) == (False, None)
    with pytest.raises(UnparsedVerdict, match="no table"):
        play("sc2", lambda call: "nothing" if call.kind == "table" else graded(call), samples=1)


def test_unclear_comparisons_are_coins() -> None:
    played = play("sc2", lambda call: "Both are fine." if call.kind == "comparator" else graded(call))
    record = record_of(played)
    assert record["coins"] == 7
    assert {match["how"] for match in record["bracket"]} == {"coin"}
    assert record == record_of(play("sc2", lambda call: "Hm." if call.kind == "comparator" else graded(call)))


def test_online_aspects_are_drawn_several_times_and_the_most_agreeable_list_is_taken() -> None:
    played = play("sc2", graded, aspects="online", aspect_samples=3)
    assert played.kinds()[0] == ["aspects"] * 3
    assert [call.draw for call in played.rounds[0]] == [0, 1, 2]
    found = record_of(played)["aspects"]
    assert found == {
        "how": "online",
        "chosen": ["tone", "accuracy", "length"],
        "lists": [["tone", "accuracy"], *[["tone", "accuracy", "length"]] * 2],
        "picked": 1,
    }
    [asked] = {content(call) for call in played.rounds[1]}
    assert asked.count("accuracy") == 1
    assert re.search(
        r"begin\]\n\{[^\[]*\[[^\]]*accuracy[^\]]*\]\}\n\[\w+ end", asked
    )  # the model's words, between fences


def test_lost_lists_of_aspects_are_left_out() -> None:
    played = play(
        "sc2", lambda call: "none" if call.kind == "aspects" and call.draw < 2 else graded(call), aspects="online"
    )
    assert record_of(played)["aspects"]["lists"][:2] == [None, None]
    assert record_of(played)["aspects"]["picked"] == 2
    with pytest.raises(UnparsedVerdict, match="none of 3 lists"):
        play("sc2", lambda call: "none" if call.kind == "aspects" else graded(call), aspects="online")


def test_given_aspects_are_taken_as_they_are() -> None:
    played = play("sc2", graded, aspects=["kindness", "rhythm"])
    assert record_of(played)["aspects"] == {"how": "given", "chosen": ["kindness", "rhythm"]}
    assert [row["aspect"] for row in winning_rows(record_of(played))] == ["kindness", "rhythm"]


@pytest.mark.parametrize(
    ("options", "kinds", "left_over"),
    [
        ({"budget": 8}, {"table": 4, "comparator": 3, "verdict": 1}, 0),
        ({"budget": 15}, {"table": 7, "comparator": 6, "verdict": 1}, 1),
        ({"budget": 24}, {"table": 12, "comparator": 11, "verdict": 1}, 0),
        ({"budget": 15, "aspects": "online"}, {"aspects": 3, "table": 6, "comparator": 5, "verdict": 1}, 0),
        ({"budget": 15, "scheme": "exact"}, {"table": 3, "comparator": 6, "verdict": 1}, 5),
        ({"budget": 15, "scheme": "random", "verdicts": 3}, {"table": 12, "verdict": 3}, 0),
    ],
)
def test_budget_is_kept_and_what_is_left_over_is_said(
    options: dict[str, Any], kinds: dict[str, int], left_over: int
) -> None:
    played = play("sc2", graded, **options)
    assert Counter(call.kind for call in played.calls) == Counter(kinds)
    assert record_of(played)["left_over"] == left_over == options["budget"] - len(played.calls)


def test_several_verdicts_are_sampled_and_the_majority_counts() -> None:
    def answer(call: Call) -> str:
        return f"Comparison: x\nPreferred: {'AABBB'[call.draw]}" if call.kind == "verdict" else graded(call)

    played = play("sc2", answer, verdicts=5)
    assert played.outcome is not None
    assert played.outcome.verdict == Verdict.B
    verdicts = [call for call in played.calls if call.kind == "verdict"]
    assert [(call.draw, call.optional, call.params["temperature"]) for call in verdicts] == [
        (draw, True, 0.7) for draw in range(5)
    ]
    assert record_of(played)["calls"]["verdict"] == 5


def test_schema_goes_along_where_the_endpoint_keeps_to_one() -> None:
    method = asking("sc2")

    def first_call(setting: Setting) -> Call:
        return next(method.ask(shown(), setting))[0]

    assert "response_format" not in first_call(Setting()).params
    assert first_call(Setting(schema=True)).params["response_format"]["json_schema"]["strict"] is True
    assert "response_format" not in first_call(Setting(schema=True, options={"schema": False})).params
    assert "response_format" in first_call(Setting(options={"schema": True})).params


def test_record_goes_with_the_question_for_the_verdict() -> None:
    played = play("sc2", graded)
    assert played.calls[-1].made == record_of(played)
    assert json.loads(json.dumps(record_of(played))) == record_of(played)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"samples": 0}, "samples is a whole number from 1"),
        ({"samples": 4, "budget": 15}, "either samples or a budget"),
        ({"budget": 1}, "budget of 1 calls is not enough"),
        ({"scheme": "knock-out"}, "scheme is tournament, exact or random"),
        ({"scheme": "exact", "samples": 33}, "1,056 comparisons"),
        ({"aspects": "sometimes"}, "aspects is fixed"),
        ({"aspects": []}, "aspects is fixed"),
        ({"verdicts": 0}, "verdicts is a whole number"),
        ({"schema": "yes"}, "schema is auto"),
        ({"turns": 3}, "unknown option turns"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadSettings, match=reason):
        asking("sc2").check("free", Setting(options=options))
