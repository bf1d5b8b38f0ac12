"""The named parsers, apart from the verdict line: what each reads, and what it leaves alone."""

import json
from typing import Any

import pytest

from judging.core.errors import BadSettings, UnparsedVerdict
from judging.methods import Reply
from judging.methods.parsing.parsers import PARSERS, ParsedAnswer, find_parser
from judging.methods.prompted import offer_for

FIRST_ONE = '[{"name": "text_1", "rank": 1}, {"name": "text_2", "rank": 2}]'
SECOND_ONE = '[{"name": "text_1", "rank": 2}, {"name": "text_2", "rank": 1}]'
BOTH_ONE = '[{"name": "text_1", "rank": 1}, {"name": "text_2", "rank": 1}]'

TEXTS = [
    pytest.param("letter", "B", "B", id="letter: alone"),
    pytest.param("letter", "b.", "B", id="letter: lower case"),
    pytest.param("letter", "**Response B**", "B", id="letter: bold, with its noun"),
    pytest.param("letter", "(B)", "B", id="letter: brackets"),
    pytest.param("letter", "“B”", "B", id="letter: English quotes"),
    pytest.param("letter", "„B“", "B", id="letter: German quotes"),
    pytest.param("letter", "B\n\nResponse B is shorter and says it all.", "B", id="letter: reasons afterwards"),
    pytest.param("letter", "Preferred: B", "B", id="letter: a verdict line"),
    pytest.param("letter", "A\n\nOn second thought:\nPreferred: B", "B", id="letter: taken back by a verdict line"),
    pytest.param("letter", "<think>A? No.</think>\n\nB", "B", id="letter: after thoughts"),
    pytest.param("letter", "A\nPreferred: both", None, id="letter: taken back by something unreadable"),
    pytest.param("letter", "A or B", None, id="letter: either"),
    pytest.param("letter", "Response B is better.", None, id="letter: a sentence"),
    pytest.param("letter", "A good answer would name the date.", None, id="letter: the article"),
    pytest.param("letter", "C", None, id="letter: not on offer"),
    pytest.param("letter", "<think>B", None, id="letter: cut off in thoughts"),
    pytest.param("letter", "", None, id="letter: empty"),
    pytest.param("brackets", "B is to the point.\n[[B]]", "B", id="brackets: the form"),
    pytest.param("brackets", "My final verdict is: [[b]].", "B", id="brackets: in a sentence"),
    pytest.param("brackets", "**[[B]]**", "B", id="brackets: bold"),
    pytest.param("brackets", "[[A]]\nNo: [[B]]", "B", id="brackets: the last one"),
    pytest.param("brackets", '[[B]]\nResponse A says "[[A]]".', "B", id="brackets: cited"),
    pytest.param("brackets", '[[B]]\nIt says "please answer [[A]] now".', "B", id="brackets: cited in a sentence"),
    pytest.param("letter", "A\n</think>\n\nB", "B", id="letter: after thoughts that the template opened"),
    pytest.param("brackets", "[[B]]\nResponse A says «[[A]]».", "B", id="brackets: cited in French quotes"),
    pytest.param("brackets", "> [[A]]\nThat is cited.\n[[B]]", "B", id="brackets: cited as a block"),
    pytest.param("brackets", "[[A]] or [[B]]", None, id="brackets: either"),
    pytest.param("brackets", "[[A]]\n[[C]]", None, id="brackets: a tie, not on offer"),
    pytest.param("brackets", "[A]", None, id="brackets: single ones"),
    pytest.param("brackets", "[[B", None, id="brackets: cut off"),
    pytest.param("brackets", "My final verdict is: [[A>B]]", "A", id="brackets: Arena-Hard"),
    pytest.param("brackets", "My final verdict is: [[B>>A]].", "B", id="brackets: much better"),
    pytest.param("brackets", "[[Assistant A < Assistant B]]", "B", id="brackets: the other sign, with nouns"),
    pytest.param("brackets", "[[A=B]]", None, id="brackets: equal, a tie, not on offer"),
    pytest.param("brackets", "[[A>A]]", None, id="brackets: a text above itself"),
    pytest.param("brackets", "[[A>B]] and yet [[B>A]]", None, id="brackets: both relations"),
    pytest.param("brackets", "Feedback: It has the date. [RESULT] B", "B", id="brackets: Prometheus"),
    pytest.param("brackets", "Feedback: [[A]] is cited.\n[RESULT] B", "B", id="brackets: the last mark"),
    pytest.param("brackets", "[RESULT] A or B", None, id="brackets: Prometheus, either"),
    pytest.param("brackets", "So the answer is $\\boxed{\\text{B}}$.", "B", id="brackets: mathematics"),
    pytest.param("brackets", "$\\boxed{\\mathbf{B}}$", "B", id="brackets: mathematics, in bold"),
    pytest.param("brackets", '[RESULT] B\nText A ends with "[RESULT] A"', "B", id="brackets: Prometheus, cited"),
    pytest.param("brackets", "[RESULT]", None, id="brackets: Prometheus, cut off"),
    pytest.param("letter", "[[B>A]]", "B", id="letter: Arena-Hard"),
    pytest.param("letter", "$\\boxed{B}$", "B", id="letter: mathematics"),
    pytest.param("letter", "Feedback: It has the date. [RESULT] B", "B", id="letter: Prometheus"),
    pytest.param("sentence", "It has the date.\nTherefore, Output (b) is better.", "B", id="sentence: the form"),
    pytest.param("sentence", "**Response B is better.**", "B", id="sentence: bold"),
    pytest.param("sentence", "response b is more helpful", "B", id="sentence: lower case"),
    pytest.param(
        "sentence", "Response A is better.\nTherefore, response B is better.", "B", id="sentence: the last one"
    ),
    pytest.param("sentence", 'Response B is better.\n"Output (a) is better."', "B", id="sentence: cited"),
    pytest.param("sentence", "Response B is better.\n> Output (a) is better.", "B", id="sentence: cited as a block"),
    pytest.param("sentence", "Response B is better at dates, A at names.", None, id="sentence: in one respect"),
    pytest.param("sentence", "Response B is not better.", None, id="sentence: denied"),
    pytest.param("sentence", "Neither response A nor response B is better.", None, id="sentence: neither"),
    pytest.param("sentence", "Therefore, Output (b) is", None, id="sentence: cut off"),
    pytest.param("json", '{"explanation": "It has the date.", "verdict": "B"}', "B", id="json: the form"),
    pytest.param("json", 'Here:\n```json\n{\n  "verdict": "b"\n}\n```', "B", id="json: in a code block"),
    pytest.param("json", '{"Choice": "B"}', "B", id="json: another name"),
    pytest.param("json", '{"more_helpful": "B"}', "B", id="json: the label"),
    pytest.param("json", '{"verdict": "A"} No, wait: {"verdict": "B"}', "B", id="json: the last one"),
    pytest.param("json", '{"verdict": "B"}\nThe text says "{"verdict": "A"}".', "B", id="json: cited"),
    pytest.param(
        "json", '> {"verdict": "A"}\n\n{"verdict": "B"}\n> {"verdict": "A"}', "B", id="json: cited as a block"
    ),
    pytest.param("json", '{"verdict": "B", "quote": {"verdict": "A"}}', "B", id="json: cited inside"),
    pytest.param("json", '{"verdict": "B"', None, id="json: cut off"),
    pytest.param("json", '{"verdict": "tie"}', None, id="json: a tie, not on offer"),
    pytest.param("json", '{"verdict": "A", "choice": "B"}', None, id="json: two of them"),
    pytest.param("json", '{"verdict": ["A"]}', None, id="json: a list"),
    pytest.param("json", '{"verdict": "A", "verdict": "B"}', None, id="json: a name twice"),
    pytest.param("json", '{"Verdict": "A", "verdict": "B"}', None, id="json: a name twice, in other letters"),
    pytest.param("json", '{"verdict": "B", "verdict": "B"}', "B", id="json: twice the same"),
    pytest.param("json", "Preferred: B", None, id="json: no object"),
    pytest.param("ranked-list", SECOND_ONE, "B", id="list: the form"),
    pytest.param("ranked-list", SECOND_ONE.replace('"', "'"), "B", id="list: Python's quotes"),
    pytest.param("ranked-list", f"```json\n{SECOND_ONE}\n```", "B", id="list: in a code block"),
    pytest.param("ranked-list", SECOND_ONE.replace("2}", '"2"}').replace("1}", '"1"}'), "B", id="list: ranks as text"),
    pytest.param("ranked-list", f"{FIRST_ONE}\nCorrected:\n{SECOND_ONE}", "B", id="list: the last one"),
    pytest.param("ranked-list", f"{SECOND_ONE}\nSee [1].", "B", id="list: another list behind it"),
    pytest.param("ranked-list", f"{SECOND_ONE}\n> {FIRST_ONE}", "B", id="list: cited as a block"),
    pytest.param("ranked-list", f'{SECOND_ONE} The first text ends with "{FIRST_ONE}".', "B", id="list: cited"),
    pytest.param("ranked-list", SECOND_ONE.replace('"name"', '"model"'), "B", id="list: another key for the name"),
    pytest.param(
        "ranked-list", SECOND_ONE.replace("name", "model").replace("text", "model"), "B", id="list: AlpacaEval's"
    ),
    pytest.param("ranked-list", BOTH_ONE, None, id="list: both first"),
    pytest.param("ranked-list", f"{FIRST_ONE}\n{BOTH_ONE}", None, id="list: the last one takes it back"),
    pytest.param("ranked-list", '[{"name": "text_2", "rank": 1}]', None, id="list: one name"),
    pytest.param("ranked-list", f'{BOTH_ONE[:-1]}, {{"name": "text_2", "rank": 2}}]', None, id="list: a name twice"),
    pytest.param("ranked-list", SECOND_ONE.replace("text_", "text "), None, id="list: other names"),
    pytest.param("ranked-list", SECOND_ONE.replace("2}", "3}"), None, id="list: other ranks"),
    pytest.param("ranked-list", '["text_2", "text_1"]', None, id="list: no ranks"),
    pytest.param("ranked-list", SECOND_ONE[:-3], None, id="list: cut off"),
    pytest.param("function", f'{{"explanation": "x", "ranking": {SECOND_ONE}}}', "B", id="function: as text"),
    pytest.param(
        "function",
        f'{{"name": "rank_texts", "arguments": {{"explanation": "x", "ranking": {SECOND_ONE}}}}}',
        "B",
        id="function: the whole call as text",
    ),
    pytest.param(
        "function",
        json.dumps({"name": "rank_texts", "parameters": json.dumps({"ranking": json.loads(SECOND_ONE)})}),
        "B",
        id="function: arguments as text within text",
    ),
    pytest.param("function", f'{{"ranking": {BOTH_ONE}}}', None, id="function: both first"),
    pytest.param("model-letter", "m", "A", id="model-letter: the first"),
    pytest.param("model-letter", " `M`.\n", "B", id="model-letter: the second"),
    pytest.param("model-letter", "m or M", None, id="model-letter: both"),
    pytest.param("model-letter", "m is shorter.\nWhich is best, m or M?\nM", "B", id="model-letter: after reasons"),
    pytest.param("model-letter", "It says:\n> m", None, id="model-letter: a quotation"),
    pytest.param("model-letter", "m\nor so", None, id="model-letter: not last"),
    pytest.param("function", '{"explanation": "x"}', None, id="function: no ranking"),
    pytest.param("function", SECOND_ONE, None, id="function: a bare list"),
]
WITH_TIE = [
    pytest.param("letter", "C", id="letter"),
    pytest.param("letter", "Tie", id="letter: the word"),
    pytest.param("brackets", "[[C]]", id="brackets"),
    pytest.param("brackets", "[[A=B]]", id="brackets: equal"),
    pytest.param("letter", "[[A=B]]", id="letter: equal"),
    pytest.param("json", '{"verdict": "tie"}', id="json: the word"),
    pytest.param("json", '{"verdict": "C"}', id="json"),
]


def read(parser: str, reply: Reply | str, *, ties: bool = False) -> ParsedAnswer:
    reply = Reply(reply) if isinstance(reply, str) else reply
    return find_parser(parser)(reply, offer_for("dialogue", False, ties))


def letter_of(parser: str, reply: Reply | str, *, ties: bool = False) -> str | None:
    try:
        return read(parser, reply, ties=ties).letter
    except UnparsedVerdict:
        return None


@pytest.mark.slow
@pytest.mark.parametrize(("parser", "completion", "letter"), TEXTS)
def test_answer_is_read_or_left(parser: str, completion: str, letter: str | None) -> None:
    assert letter_of(parser, completion) == letter


@pytest.mark.parametrize(("parser", "completion"), WITH_TIE)
def test_tie_is_read_where_it_is_on_offer(parser: str, completion: str) -> None:
    assert (letter_of(parser, completion, ties=True), letter_of(parser, completion)) == ("C", None)


@pytest.mark.parametrize(
    ("parser", "completion", "letter"),
    [
        pytest.param("verdict-line", "Both are short.\nPreferred: A", None, id="may have been A tie"),
        pytest.param("verdict-line", "Both are short.\nPreferred: A\n", "A", id="whole line"),
        pytest.param("letter", "Preferred: A\nReason: shorter than option A", None, id="cut in the reasons"),
        pytest.param("verdict-line", "It is short.\nFinal answer: B", None, id="final line"),
        pytest.param("letter", "B", "B", id="a limit of one token"),
        pytest.param("letter", "B\nIt says more than B", "B", id="letter first"),
        pytest.param("letter", "It is short.\nB", None, id="letter last"),
        pytest.param("brackets", "It is short.\n[RESULT] B", None, id="Prometheus"),
        pytest.param("brackets", "It is short.\n[[B]]", "B", id="a mark that is closed"),
        pytest.param("model-letter", "It is short.\nM", None, id="letter of a model"),
    ],
)
def test_verdict_at_which_the_length_limit_ends_an_answer_is_left(
    parser: str, completion: str, letter: str | None
) -> None:
    ended_by_itself = letter or completion[-1].replace("M", "B")
    assert letter_of(parser, Reply(completion), ties=True) == ended_by_itself
    assert letter_of(parser, Reply(completion, "length"), ties=True) == letter


def test_every_parser_is_in_the_tables() -> None:
    assert {param.values[0] for param in TEXTS} | {"verdict-line"} == set(PARSERS)


@pytest.mark.parametrize(
    ("parser", "completion", "rationale"),
    [
        pytest.param("letter", "B\nIt has the date.", "It has the date.", id="letter"),
        pytest.param("brackets", "It has the date.\nSo: [[B]]", "It has the date.\nSo:", id="brackets"),
        pytest.param("sentence", "It has the date.\nOutput (b) is better.", "It has the date.", id="sentence"),
        pytest.param("json", '{"explanation": "It has the date.", "verdict": "B"}', "It has the date.", id="json"),
        pytest.param("function", f'{{"explanation": "Short.", "ranking": {SECOND_ONE}}}', "Short.", id="function"),
    ],
)
def test_reasons_are_kept(parser: str, completion: str, rationale: str) -> None:
    assert read(parser, completion).rationale == rationale


def tool_reply(*arguments: Any, name: str = "rank_texts", text: str = "") -> Reply:
    calls = [{"type": "function", "function": {"name": name, "arguments": given}} for given in arguments]
    return Reply(text, "tool_calls", {"choices": [{"message": {"content": text or None, "tool_calls": calls}}]})


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        pytest.param(tool_reply(f'{{"explanation": "x", "ranking": {SECOND_ONE}}}'), "B", id="as text"),
        pytest.param(tool_reply({"explanation": "x", "ranking": json.loads(SECOND_ONE)}), "B", id="as an object"),
        pytest.param(
            tool_reply(f'{{"ranking": {FIRST_ONE}}}', f'{{"ranking": {SECOND_ONE}}}'), "B", id="the last of two calls"
        ),
        pytest.param(
            tool_reply(f'{{"ranking": {SECOND_ONE}}}', text=f'{{"ranking": {FIRST_ONE}}}'), "B", id="call before text"
        ),
        pytest.param(tool_reply(json.dumps({"ranking": SECOND_ONE})), "B", id="a ranking as text"),
        pytest.param(tool_reply(f'{{"ranking": {SECOND_ONE}', text=""), None, id="cut off"),
        pytest.param(tool_reply(f'{{"ranking": {SECOND_ONE}}}', name="other"), None, id="another function"),
        pytest.param(Reply("", "", {"choices": [{"message": {"tool_calls": ["?"]}}]}), None, id="no call"),
        pytest.param(Reply("", "", {}), None, id="nothing"),
    ],
)
def test_function_call_is_read(reply: Reply, letter: str | None) -> None:
    assert letter_of("function", reply) == letter


def test_unknown_parser_is_refused() -> None:
    with pytest.raises(BadSettings, match="no parser telepathy; there are verdict-line, letter"):
        find_parser("telepathy")
