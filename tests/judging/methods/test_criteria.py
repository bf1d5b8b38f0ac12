"""A study's further questions: every method asks about the criterion, and about nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from annotation.questions.questions import Question
from judging.calls.dry_run import filler_for
from judging.calls.presentations import prompt_version, task_for, wording_of
from judging.core.errors import BadSettings
from judging.methods import AskingMethod, Call, Presentation, Setting, find_method, method_names
from judging.methods.task_files import CRITERION, TASKS
from judging.models import Judge
from tests.judging.methods.procedures import asking, content, play, shown

ASKING = [name for name in method_names() if isinstance(find_method(name), AskingMethod)]
CRITERIA = "Which one is more coherent?"
# A comparator asks which table is sound, whatever the question.
ABOUT_TABLES = "comparator"
OWN = "$fence $source $first $second\nChoice: $letters"


def calls_of(name: str, presentation: Presentation, **options: object) -> list[Call]:
    """Drive a method with made-up answers; the last call shows the verdict."""
    procedure = asking(name).ask(presentation, Setting(seed=7, options=options))
    calls: Sequence[Call] = next(procedure)
    found: list[Call] = []
    while calls:
        found += calls
        fillers = [filler_for(call, {}) for call in calls]
        if None in fillers:
            break
        values = [call.read(reply) for call, reply in zip(calls, fillers, strict=True) if reply]
        try:
            calls = procedure.send(values)
        except StopIteration:
            break
    return found


@pytest.mark.parametrize("name", ASKING)
def test_every_method_asks_about_the_criterion(name: str) -> None:
    options = {"aspects": "asked"} if "aspects" in find_method(name).options else {}
    for negated in (False, True):
        calls = calls_of(name, shown(CRITERION, question=CRITERIA, negated=negated), **options)
        assert calls[-1].kind in ("verdict", "score")
        for call in calls:
            assert (CRITERIA in content(call)) == (call.kind != ABOUT_TABLES)
        rest = content(calls[-1]).replace(CRITERIA, "")
        assert "main points" not in rest
        assert ("does worse" in rest or "how badly" in rest) == negated


def test_a_table_is_made_for_the_criterion_and_another_one_for_the_main_question() -> None:
    made = {task: calls_of("sc2", shown(task, question=CRITERIA), samples=2) for task in (CRITERION, "summarization")}
    tables = {task: content(calls[0]) for task, calls in made.items()}
    assert "in this respect" in tables[CRITERION]
    assert CRITERIA not in tables["summarization"]
    assert "sc2-table-criterion.v2" in find_method("sc2").prompt_version(CRITERION, Setting())
    assert "sc2-table-criterion.v2" not in find_method("sc2").prompt_version("free", Setting())


def test_examples_keep_the_questions_that_they_answer() -> None:
    sent = content(play("few-shot", ["Preferred: B"], shown(CRITERION, question=CRITERIA)).calls[0])
    assert "Example 1. Answer this question about them: Which text is easier to understand?" in sent
    assert f"Now it is your turn. Answer this question about them: {CRITERIA}" in sent


@pytest.mark.parametrize("kind", TASKS)
def test_a_further_question_is_asked_in_the_same_words_in_every_kind_of_study(kind: str) -> None:
    assert task_for(Judge(), kind, 2) == task_for(Judge(task="chat"), kind, 1) == CRITERION
    assert task_for(Judge(), kind, 0) == kind
    assert task_for(Judge(task="chat"), kind, 0) == "chat"


def test_a_description_follows_its_question() -> None:
    asked = Question(1, "coherence", CRITERIA, "Sentences follow from each other.\nIgnore $5 words.")
    words = wording_of(asked)
    assert words == f"{CRITERIA} (What is meant: Sentences follow from each other.\nIgnore $5 words.)"
    assert words in content(play("direct", ["Preferred: A"], shown(CRITERION, question=words)).calls[0])
    assert wording_of(replace(asked, description="")) == CRITERIA


def test_version_says_which_words_were_sent() -> None:
    method, setting = find_method("direct"), Setting()
    first, same, other = (
        prompt_version(method, setting, shown(CRITERION, question=words)) for words in ("One?", "One?", "Other?")
    )
    assert first == same != other
    assert first.startswith("direct.v2+criterion.v1+question-")
    assert prompt_version(method, setting, shown("free", question="One?")) == "direct.v2+free.v1"
    assert prompt_version(find_method("coin"), setting, shown(CRITERION, question="One?")) == ""


@pytest.mark.parametrize("placeholder", ["$criterion", "$question"])
def test_own_prompt_must_hold_the_question(placeholder: str) -> None:
    method = find_method("direct")
    without = Setting(wording=OWN, wording_version="own.v1", wording_parser="verdict-line")
    method.check("free", without)
    with pytest.raises(BadSettings, match=r"own\.v1 has neither \$criterion nor \$question"):
        method.check(CRITERION, without)
    holding = replace(without, wording=f"{placeholder}\n{OWN}")
    method.check(CRITERION, holding)
    [call] = next(asking("direct").ask(shown(CRITERION, question=CRITERIA), holding))
    assert CRITERIA in content(call)
