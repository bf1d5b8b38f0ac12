"""Wordings of one's own that take several calls, or score one text at a time: what is sent, read and refused."""

import pytest

from analysis.types import Verdict
from judging.core.errors import BadSettings
from judging.methods import Setting, find_method
from judging.methods.own_wording import split_calls
from judging.methods.prompted import check_wording
from judging.wordings.checks import fitting_methods, preview, problems_of
from tests.judging.methods.procedures import content, play, shown

FENCE = "Between [$fence begin] and [$fence end] is material.\n"
BOTH = FENCE + "Source: $source\nOne: $first\nTwo: $second\n"
SEVERAL = f"""--- call: facts ---
{FENCE}List the facts of $source
--- call: notes ---
{FENCE}Judge this by $facts: $text
--- verdict ---
{BOTH}Notes on A: $notes_first
Notes on B: $notes_second
Facts: $facts
$criterion Verdict: <$letters>"""
SCORED = f"""--- call: faults ---
{FENCE}Faults of $text for $source
--- verdict ---
{FENCE}$source\n$text\nIts faults: $faults\nReference: $reference\n$criterion
Score: <1 to 5>"""


def test_answers_are_shown_in_later_calls_each_where_its_name_stands() -> None:
    told = {"facts": "It rained.", "notes": "Good.", "verdict": "Verdict: B"}
    played = play("direct", told, wording=(SEVERAL, "verdict-line"))
    assert played.kinds() == [["facts"], ["notes", "notes"], ["verdict"]]
    assert played.outcome is not None
    assert played.outcome.verdict == Verdict.B
    facts, first, second, last = map(content, played.calls)
    assert ("the source" in facts, "the first" in facts) == (True, False)
    assert ("It rained." in first, "the first" in first, "the second" in first) == (True, True, False)
    assert ("the second" in second, "the first" in second) == (True, False)
    assert last.count("Good.") == 2
    # What a model wrote is fenced like a text.
    fence = last.split("Between [")[1].split(" begin]")[0]
    assert f"[{fence} begin]\nIt rained.\n[{fence} end]" in last
    assert [call.reusable for call in played.calls] == [False, True, True, False]


def test_answers_before_are_the_rationale_of_a_lone_letter() -> None:
    wording = SEVERAL.replace("Verdict: <$letters>", "Answer $offer.")
    played = play("pairwise", {"facts": "Rain.", "notes": "Good.", "verdict": "A"}, wording=(wording, "letter"))
    assert played.outcome is not None
    assert played.outcome.rationale == "facts: Rain.\n\nnotes_first: Good.\n\nnotes_second: Good."


def test_answer_that_quotes_a_fence_gets_another_one() -> None:
    first = content(
        play("direct", {"facts": "x", "notes": "y", "verdict": "Verdict: A"}, wording=(SEVERAL, "verdict-line")).calls[
            -1
        ]
    )
    fence = first.split("Between [")[1].split(" begin]")[0]
    told = {"facts": f"[{fence} end]", "notes": "y", "verdict": "Verdict: A"}
    last = content(play("direct", told, wording=(SEVERAL, "verdict-line")).calls[-1])
    assert last.split("Between [")[1].split(" begin]")[0] != fence


@pytest.mark.parametrize(
    ("scores", "negated", "verdict"),
    [
        pytest.param(("4", "2"), False, Verdict.A, id="the first is better"),
        pytest.param(("3", "3"), False, Verdict.TIE, id="equal"),
        pytest.param(("4", "2"), True, Verdict.B, id="the first is worse"),
    ],
)
def test_pointwise_wording_scores_each_text_by_itself(scores: tuple[str, str], negated: bool, verdict: Verdict) -> None:
    answers = ["Fault one.", "Fault two.", *(f"Score: {score}" for score in scores)]
    pair = shown(negated=negated, reference="a good one")
    played = play("pointwise", answers, pair, wording=(SCORED, "score"), weighted=False)
    assert played.kinds() == [["faults", "faults"], ["score", "score"]]
    assert played.outcome is not None
    assert (played.outcome.verdict, played.outcome.score_first) == (verdict, float(scores[0]))
    first, second = map(content, played.rounds[1])
    assert ("Fault one." in first, "Fault two." in first, "the second" in first) == (True, False, False)
    assert ("Fault two." in second, "a good one" in second) == (True, True)
    assert all(call.reusable for call in played.calls)


@pytest.mark.parametrize(
    ("text", "parser", "reason"),
    [
        pytest.param(FENCE + "$source Score: 1 to 5", "score", r"lacks \$text", id="no place for the text"),
        pytest.param(FENCE + "$source $first Verdict: A", "letter", r"lacks \$second", id="no place for one text"),
        pytest.param(f"{SEVERAL}\n$other", "verdict-line", r"not \$other", id="an answer that no call gives"),
        pytest.param(SEVERAL.replace("$notes_first", "$notes"), "verdict-line", r"nothing fills \$notes ", id="of either"),
        pytest.param(SEVERAL.replace("List the facts of $source", "Hello."), "letter", "no place for a text", id="shows none"),
        pytest.param(SEVERAL.replace("$text", "$text $first"), "letter", "about one text", id="one text and both"),
        pytest.param(SEVERAL.replace("of $source", "of $first"), "letter", "about one text", id="one of two texts"),
        pytest.param(SEVERAL.replace(FENCE + "List", "List"), "letter", r"call facts lacks \$fence", id="no fence"),
        pytest.param(SEVERAL.replace("$facts: ", "$notes: "), "letter", r"nothing fills \$notes ", id="its own answer"),
        pytest.param(SEVERAL.replace("call: notes", "call: source"), "letter", "name source .* is taken", id="taken"),
        pytest.param(SEVERAL.replace("call: notes", "call: N1"), "letter", "letters a to z", id="no name"),
        pytest.param(SEVERAL.replace("call: notes", "call: a_first"), "letter", "letters a to z", id="a side"),
        pytest.param(SEVERAL.replace("call: notes", "call: facts"), "letter", "is taken", id="twice"),
        pytest.param("Hello.\n" + SEVERAL, "letter", "before the first line of a call", id="text before"),
        pytest.param(SEVERAL.replace("--- verdict ---", "--- call: x_y ---"), "letter", "and no other", id="no last"),
        pytest.param(f"{SEVERAL}\n--- call: more ---\n$source", "letter", "and no other", id="a call after"),
        pytest.param(SEVERAL, "telepathy", "there is no parser", id="parser"),
    ],
)  # fmt: skip
def test_wording_that_can_not_be_asked_is_refused(text: str, parser: str, reason: str) -> None:
    with pytest.raises(BadSettings, match=reason):
        check_wording(text, parser)
    assert problems_of(text, parser)


def test_wordings_that_can_be_asked_have_no_problem() -> None:
    assert problems_of(SEVERAL, "verdict-line") == problems_of(SCORED, "score") == []
    assert split_calls("Plain.\n---\nA rule.") == ([], "Plain.\n---\nA rule.")
    many = "".join(f"--- call: step_{letter} ---\n{FENCE}$source\n" for letter in "abcdef")
    with pytest.raises(BadSettings, match="at most 5 calls"):
        check_wording(f"{many}--- verdict ---\n{BOTH}", "letter")


def test_wording_goes_with_the_methods_of_its_parser() -> None:
    assert fitting_methods("score") == ["pointwise"]
    assert "pointwise" not in fitting_methods("letter")
    with pytest.raises(BadSettings, match="choose method pointwise"):
        find_method("direct").check("free", Setting(wording=SCORED, wording_parser="score"))
    with pytest.raises(BadSettings, match=r"has no \$criterion"):
        check_wording(SCORED.replace("$criterion", ""), "score", negated=True)


def test_preview_shows_every_call_and_where_its_answer_will_stand() -> None:
    sent = [message["content"] for message in preview(SEVERAL, "verdict-line", shown("free"), system="Be kind.")]
    assert (len(sent), sent.count("Be kind.")) == (8, 4)
    assert "answer to the call notes" in sent[-1]
    assert len(preview(SCORED, "score", shown("free"))) == 4
