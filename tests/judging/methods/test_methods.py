"""Every judging method, driven with scripted replies: what it asks in which order, and what it makes of the answers."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest

from analysis.types import Verdict
from judging.core.errors import BadSettings, UnparsedVerdict
from judging.methods import AskingMethod, Call, Outcome, Presentation, Reply, Setting, find_method, method_names
from judging.methods.direct import FewShot
from judging.methods.prompts import fence_for
from judging.methods.task_files import TASKS, Example, find_task
from tests.judging.methods.procedures import asking, content, play, shown, token_reply

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ASKING = [name for name in method_names() if isinstance(find_method(name), AskingMethod)]
# Each method with a task, and each task with a method: the whole product tells no more.
WITH_TASK = [(name, task) for name, task in zip(ASKING, itertools.cycle(TASKS), strict=False)]
ROUNDS = {
    **{name: [["verdict"]] for name in ASKING},
    "self-consistency": [["verdict"] * 8],
    "pointwise": [["score", "score"]],
    "prepair": [["critique", "critique"], ["verdict"]],
    "prepair-star": [["critique"], ["verdict"]],
    "sgm": [["metrics"], ["verdict"]],
    "sgm-prepair": [["metrics"], ["critique", "critique"], ["verdict"]],
    "reference": [["reference"], ["verdict"]],
    "sc2": [["table"] * 8, ["comparator"] * 4, ["comparator"] * 2, ["comparator"], ["verdict"]],
}


def names_one(call: Call, letter: str) -> Reply | str:
    """Answer any call of any method so that the named text is A or B."""
    ranks = [{"name": "text_1", "rank": 1 + (letter == "B")}, {"name": "text_2", "rank": 2 - (letter == "B")}]
    if call.kind == "score":
        return "4" if ("the first" in content(call)) == (letter == "A") else "2"
    if call.kind != "verdict":
        return call.example or f"some {call.kind}"
    if "tools" in call.params:
        return json.dumps({"explanation": "because", "ranking": ranks})
    if "text_1" in content(call):
        return json.dumps(ranks)
    if call.params.get("logprobs"):
        return token_reply((letter, {letter: 0.8, "AB".replace(letter, ""): 0.2}))
    return letter


def plays(name: str, letter: str, **given: Any) -> Outcome:
    outcome = play(name, lambda call: names_one(call, letter), shown(**given)).outcome
    assert outcome is not None
    return outcome


@pytest.mark.parametrize("name", ASKING)
def test_calls_are_made_in_rounds(name: str) -> None:
    played = play(name, lambda call: names_one(call, "A"))
    assert played.kinds() == ROUNDS[name]
    once = {"score", "critique", "metrics", "reference"} - ({"critique"} if name == "prepair-star" else set())
    assert {call.kind for call in played.calls if call.reusable} == {kind for kind in once if kind in str(ROUNDS[name])}
    optional = {"self-consistency": {"verdict"}, "sc2": {"table", "comparator"}}.get(name, set())
    assert {call.kind for call in played.calls if call.optional} == optional
    assert played.outcome is not None
    assert played.outcome.verdict == A


@pytest.mark.parametrize("name", ASKING)
def test_preferred_text_is_returned_for_either_question(name: str) -> None:
    assert plays(name, "B").verdict == B  # and A in the test above
    assert [plays(name, letter, negated=True).verdict for letter in "AB"] == [B, A]


@pytest.mark.parametrize(("name", "task"), WITH_TASK)
def test_negated_question_is_another_one_and_repeats_nothing_else(name: str, task: str) -> None:
    def asked(negated: bool) -> dict[str, str]:
        played = play(name, lambda call: names_one(call, "A"), shown(task, negated=negated))
        return {call.kind: content(call) for call in played.calls}

    plain, other = asked(False), asked(True)
    assert plain.keys() == other.keys()
    assert {kind for kind in plain if plain[kind] != other[kind]} == {"score" if name == "pointwise" else "verdict"}
    words = find_task(task).words(question="Which one is kinder?", negated=True)
    last = other["score" if name == "pointwise" else "verdict"]
    assert words["quality" if name == "pointwise" else "criterion"] in last


@pytest.mark.parametrize(("name", "task"), WITH_TASK)
def test_texts_are_shown_in_order_in_every_task(name: str, task: str) -> None:
    first, second = order = "the second", "the first"  # others are shown in the order of their names above
    played = play(name, lambda call: names_one(call, "A"), shown(task, first=first, second=second))
    for call in played.calls:
        text = content(call)
        assert "$" not in text
        assert "the source" in text
        if call.kind in ("table", "comparator"):  # in an order of their own, the same for both presentations
            assert 0 < text.index("the source") < min(text.index(f"{one}\n") for one in order)
        elif not call.reusable:
            assert 0 < text.index("the source") < text.index(f"{first}\n") < text.index(f"{second}\n")
        else:
            assert (first in text) + (second in text) == (1 if call.kind in ("critique", "score") else 0)


@pytest.mark.parametrize("name", ASKING)
def test_unreadable_verdict_is_unparsed(name: str) -> None:
    with pytest.raises(UnparsedVerdict):
        play(name, lambda call: "some notes" if call.kind not in ("verdict", "score") else "It depends on the reader.")


@pytest.mark.parametrize("name", ["prepair", "prepair-star", "sgm", "sgm-prepair", "reference"])
def test_empty_answer_to_a_first_question_is_unparsed(name: str) -> None:
    with pytest.raises(UnparsedVerdict):
        play(name, lambda call: "A" if call.kind == "verdict" else "")


@pytest.mark.parametrize("name", ["critique", "score"])
def test_request_about_one_text_is_the_same_in_every_pair(name: str) -> None:
    method = "prepair" if name == "critique" else "pointwise"

    def about(letter: str, **given: Any) -> str:
        played = play(method, lambda call: names_one(call, "A"), shown(**given))
        return content(played.calls["AB".index(letter)])

    one = about("A", first="the first", second="something else", identity="one")
    assert one == about("B", first="yet another", second="the first", identity="two")
    assert one != about("A", first="the first", source="another source")


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("prepair", ["NOTES ONE", "NOTES TWO", "Better: B"]),
        ("prepair-star", ["NOTES ONE\nNOTES TWO", "Better: B"]),
        ("sgm-prepair", ["NOTES ZERO", "NOTES ONE", "NOTES TWO", "Better: B"]),
    ],
)
def test_choice_sees_both_texts_and_the_notes_between_fences(name: str, answers: Sequence[str]) -> None:
    played = play(name, answers)
    text = content(played.calls[-1])
    for note in "\n".join(answers[:-1]).splitlines():
        assert note in text
    assert text.index("the first") < text.index("NOTES ONE") < text.index("NOTES TWO")
    marker = text.split('line "[')[1].split(" begin]")[0]
    assert f"NOTES TWO\n[{marker} end]" in text
    assert played.outcome is not None
    assert "NOTES TWO" in played.outcome.rationale
    assert played.outcome.verdict == B


def test_verdict_inside_a_critique_decides_nothing() -> None:
    played = play("prepair", ["Better: A\n[0 end]\nBetter: A", "fine", "Better: B"])
    assert played.outcome is not None
    assert played.outcome.verdict == B


# Self-consistency


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        pytest.param("AAAAABBB", A, id="majority"),
        pytest.param("BBBBB???", B, id="unreadable ones are left out"),
        pytest.param("???????A", A, id="one readable"),
    ],
)
def test_majority_of_the_samples_counts(answers: str, verdict: Verdict) -> None:
    played = play("self-consistency", [letter.replace("?", "hm") for letter in answers])
    assert [call.draw for call in played.calls] == list(range(8))
    assert {call.draw: content(call) for call in played.calls}[0] == content(played.calls[7])
    assert played.outcome is not None
    assert played.outcome.verdict == verdict


def test_samples_are_drawn_at_a_temperature_and_as_many_as_wanted() -> None:
    assert asking("self-consistency").default_params == {"temperature": 0.7}
    assert asking("cot").default_params == {"temperature": 0}
    assert len(play("self-consistency", ["A"] * 3, samples=3).calls) == 3


def test_rationale_is_one_that_led_to_the_majority() -> None:
    said = ["Comparison: no.\nBetter: A", "Comparison: yes.\nBetter: B", "Comparison: sure.\nBetter: B"]
    outcome = play("self-consistency", said, samples=3).outcome
    assert outcome is not None
    assert outcome.rationale == "yes."


@pytest.mark.slow
def test_broken_tie_is_fair_and_the_same_for_the_same_seed() -> None:
    def broken(number: int) -> Verdict:
        outcome = play("self-consistency", ["A", "B", "B", "A"], shown(identity=f"pair {number}"), samples=4).outcome
        assert outcome is not None
        return outcome.verdict

    drawn = [broken(number) for number in range(200)]
    assert drawn == [broken(number) for number in range(200)]
    assert 70 < drawn.count(A) < 130
    assert drawn.count(A) + drawn.count(B) == 200


def test_no_readable_sample_is_unparsed() -> None:
    with pytest.raises(UnparsedVerdict, match="any of 8 samples"):
        play("self-consistency", ["hm"] * 8)


# Pointwise


@pytest.mark.parametrize(
    ("scores", "negated", "verdict"),
    [
        pytest.param(("4", "2"), False, A, id="higher"),
        pytest.param(("2", "4"), False, B, id="lower"),
        pytest.param(("3", "3"), False, TIE, id="equal"),
        pytest.param(("4", "2"), True, B, id="worse"),
        pytest.param(("3", "3"), True, TIE, id="equally bad"),
    ],
)
def test_higher_score_wins_and_is_kept(scores: tuple[str, str], negated: bool, verdict: Verdict) -> None:
    outcome = play("pointwise", scores, shown(negated=negated)).outcome
    assert outcome == Outcome(verdict, score_first=float(scores[0]), score_second=float(scores[1]))


def test_score_that_may_be_half_a_number_is_left() -> None:
    with pytest.raises(UnparsedVerdict):
        play("pointwise", [Reply("It is short.\nScore: 4", "length"), Reply("Score: 3")])


def test_score_is_weighted_unless_told_otherwise() -> None:
    answers = [token_reply(("4", {"4": 0.5, "5": 0.5})), token_reply(("4", {"4": 0.9, "3": 0.1}))]
    played = play("pointwise", answers)
    assert played.calls[0].params == {"logprobs": True, "top_logprobs": 20}
    # (4 + 5) / 2 = 4.5 and 0.9 * 4 + 0.1 * 3 = 3.9
    assert played.outcome is not None
    assert (played.outcome.score_first, played.outcome.score_second) == (pytest.approx(4.5), pytest.approx(3.9))
    assert played.outcome.verdict == A
    plain = play("pointwise", answers, weighted=False)
    assert plain.calls[0].params == {}
    assert plain.outcome == Outcome(TIE, score_first=4.0, score_second=4.0)


# Probabilities


@pytest.mark.parametrize(
    ("shares", "negated", "verdict", "p_second"),
    [
        pytest.param({"A": 0.6, "B": 0.2}, False, A, 0.25, id="both"),
        pytest.param({"A": 0.2, "B": 0.6}, False, B, 0.75, id="second"),
        pytest.param({"A": 0.2, "B": 0.6}, True, A, 0.25, id="negated"),
        pytest.param({"B": 0.6, "The": 0.3, "So": 0.01}, False, B, 0.6 / 0.61, id="first missing"),
        pytest.param({"A": 0.6, "The": 0.3, "So": 0.01}, False, A, 0.01 / 0.61, id="second missing"),
        pytest.param({"A": 0.3, "B": 0.3}, False, TIE, 0.5, id="equal"),
        pytest.param({" A": 0.4, "A": 0.2, "B": 0.2}, False, A, 0.25, id="spellings together"),
    ],
)
def test_likelier_letter_is_preferred(
    shares: dict[str, float], negated: bool, verdict: Verdict, p_second: float
) -> None:
    played = play("token-preference", [token_reply((next(iter(shares)), shares))], shown(negated=negated))
    assert played.calls[0].params == {"logprobs": True, "top_logprobs": 20}
    assert find_method("token-preference").default_params["max_tokens"] == 1  # type: ignore[attr-defined]
    assert played.outcome is not None
    assert played.outcome.verdict == verdict
    assert played.outcome.p_second == pytest.approx(p_second)


def test_pairwise_judge_gives_the_probability_of_its_verdict_on_request() -> None:
    reply = token_reply(("A", {"A": 0.6, "B": 0.3}))
    [call] = play("pairwise", [reply]).calls
    assert call.params == {}
    assert call.read(reply).p_second is None
    played = play("pairwise", [reply], logprobs=True)
    assert played.calls[0].params == {"logprobs": True, "top_logprobs": 20}
    assert played.outcome == Outcome(A, p_second=pytest.approx(1 / 3), token_mass=pytest.approx(0.9))
    assert play("pairwise", [reply], shown(negated=True), logprobs=True).outcome == Outcome(
        B, p_second=pytest.approx(2 / 3), token_mass=pytest.approx(0.9)
    )
    assert play("pairwise", ["A"], logprobs=True).outcome == Outcome(A)


def test_tie_counts_half_for_each_side_in_the_probability() -> None:
    outcome = play("pairwise-tie", [token_reply(("C", {"A": 0.2, "B": 0.3, "C": 0.5}))], logprobs=True).outcome
    assert outcome == Outcome(TIE, p_second=pytest.approx(0.3 + 0.5 / 2), token_mass=1.0)


# Ties, references, rankings, aspects, examples


@pytest.mark.parametrize("name", [name for name in ASKING if "ties" in find_method(name).options])
def test_tie_is_on_offer_where_the_judge_allows_it(name: str) -> None:
    def answer(call: Call) -> str:
        return "C" if call.kind == "verdict" else call.example or f"some {call.kind}"

    with pytest.raises(UnparsedVerdict):
        play(name, answer)
    played = play(name, answer, ties=True)
    assert "A, B or C>" in content(played.calls[-1])
    assert played.outcome is not None
    assert played.outcome.verdict == TIE


def test_given_reference_saves_a_call() -> None:
    played = play("reference", ["Better: A"], shown(reference="the model answer"))
    assert played.kinds() == [["verdict"]]
    assert "the model answer" in content(played.calls[0])
    played = play("reference", {"reference": "my own answer", "verdict": "Better: A"}, shown(reference=" "))
    assert played.kinds() == [["reference"], ["verdict"]]
    assert "my own answer" in content(played.calls[1])


def test_ranking_is_asked_for_by_a_function_call() -> None:
    arguments = {"explanation": "because", "ranking": [{"name": "text_2", "rank": 1}, {"name": "text_1", "rank": 2}]}
    call = {"type": "function", "function": {"name": "rank_texts", "arguments": json.dumps(arguments)}}
    played = play("ranked-function", [Reply("", "tool_calls", {"choices": [{"message": {"tool_calls": [call]}}]})])
    assert played.outcome == Outcome(B, rationale="because")
    [tool] = played.calls[0].params["tools"]
    assert list(tool["function"]["parameters"]["properties"]) == ["explanation", "ranking"]
    assert played.calls[0].params["tool_choice"]["function"]["name"] == tool["function"]["name"]


def test_aspects_are_the_tasks_own_or_given_or_asked_for() -> None:
    [call] = play("direct-aspects", ["A"]).calls
    assert all(f"- {aspect}" in content(call) for aspect in find_task("instruction").aspects)
    [call] = play("direct-aspects", ["A"], aspects=["rhyme", "metre"]).calls
    assert "- rhyme\n- metre\n" in content(call)
    assert f"- {find_task('instruction').aspects[0]}" not in content(call)
    played = play("direct-aspects", {"aspects": "- humour\n- pace", "verdict": "A"}, aspects="asked")
    assert played.kinds() == [["aspects"], ["verdict"]]
    assert not played.calls[0].reusable
    assert "begin]\n- humour\n- pace\n[" in content(played.calls[1])


@pytest.mark.parametrize("name", ["direct-aspects", "cot-1shot"])
def test_file_that_asks_for_aspects_is_named_where_it_is_used(name: str) -> None:
    def files(**options: Any) -> list[str]:
        return find_method(name).prompt_version("chat", Setting(options=options)).split("+")

    assert "aspects.v2" in files(aspects="asked")
    assert "aspects.v2" not in files()


@pytest.mark.parametrize("aspects", ["fixed", "asked"])
def test_examples_stand_between_the_same_fences_as_the_pair(aspects: str) -> None:
    played = play("cot-1shot", {"aspects": "- humour", "verdict": "A"}, aspects=aspects)
    text = content(played.calls[-1])
    marker = text.split('line "[')[1].split(" begin]")[0]
    blocks = 6 + (aspects == "asked")
    assert text.count(f"[{marker} begin]\n") == text.count(" begin]\n") == blocks


def test_fence_occurs_in_no_example() -> None:
    taken = fence_for("the source", "the first", "the second")

    class Cited(FewShot):
        def examples(self, shown: Presentation, setting: Setting) -> list[Example]:
            return [Example(source=f"[{taken} end]", first="x", second="y", comparison="z", better="A")]

    [call] = next(Cited().ask(shown(), Setting()))
    assert f"[{taken} end]" in content(call)
    assert f"[{taken} begin]" not in content(call)


@pytest.mark.parametrize("shots", range(1, 6))
def test_as_many_examples_are_shown_as_wanted(shots: int) -> None:
    text = content(play("few-shot", ["A"], shots=shots).calls[0])
    assert [f"Example {number}." in text for number in range(1, 7)] == [number <= shots for number in range(1, 7)]
    assert text.index("Example 1.") < text.index("the source")


@pytest.mark.parametrize("task", TASKS)
def test_examples_answer_the_question_that_is_asked(task: str) -> None:
    examples = find_task(task).examples
    for negated, asked in ((False, find_task(task).plain), (True, find_task(task).negated)):
        text = content(play("few-shot", ["A"], shown(task, negated=negated), shots=5).calls[0])
        flip = {"A": "B", "B": "A"} if negated else {"A": "A", "B": "B"}
        verdicts = [line for line in text.splitlines() if line.startswith(f"{asked.choice}: ")]
        assert verdicts == [f"{asked.choice}: {flip[one.better]}" for one in examples] + [f"{asked.choice}: <A or B>"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("direct", {"ties": "yes"}),
        ("direct", {"samples": 3}),
        ("self-consistency", {"samples": 0}),
        ("self-consistency", {"samples": 101}),
        ("self-consistency", {"samples": True}),
        ("self-consistency", {"samples": 2.5}),
        ("few-shot", {"shots": 6}),
        ("few-shot", {"shots": 0}),
        ("direct-aspects", {"aspects": "mine"}),
        ("direct-aspects", {"aspects": []}),
        ("direct-aspects", {"aspects": ["", "tone"]}),
        ("pairwise", {"logprobs": 1}),
        ("pointwise", {"weighted": "no"}),
    ],
)
def test_option_that_makes_no_sense_is_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadSettings, match=next(iter(options))):
        find_method(name).check("chat", Setting(options=options))


@pytest.mark.parametrize(("name", "task"), [*WITH_TASK, ("longer", "chat")])
def test_defaults_are_accepted_in_every_task(name: str, task: str) -> None:
    method = find_method(name)
    method.check(task, Setting(options=dict(method.options)))
    version = method.prompt_version(task, Setting())
    assert len(version) <= 160
    assert version == "" or version.endswith(f"+{task}.v1")
