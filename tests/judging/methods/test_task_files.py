"""Task files: that every task has all that the methods ask with, and that its examples are of use."""

import re

import pytest

from annotation.models.studies import TaskKind
from judging.core.errors import BadSettings
from judging.methods.parsing.parsers import NOUNS
from judging.methods.prompted import offer_for
from judging.methods.prompts import FOLDER
from judging.methods.task_files import CRITERION, FILES, TASKS, find_task, task_of

PUBLIC = "summarization summarization-concise dialogue harmless ranking translation instruction chat ordering free"

OF_THEIR_OWN = ("free", CRITERION)  # tasks that ask the study's own words


def test_public_tasks_are_there_and_have_a_file_each() -> None:
    assert list(TASKS) == PUBLIC.split()
    assert sorted(FILES.values()) == sorted(file.name for file in (FOLDER / "tasks").iterdir())


def test_every_kind_of_study_has_a_task() -> None:
    assert {kind: task_of(kind) for kind in TaskKind.values} == {kind: kind for kind in TaskKind.values}
    assert task_of("poetry") == "free"
    with pytest.raises(BadSettings, match="no wording for poetry"):
        find_task("poetry")


@pytest.mark.parametrize("name", FILES)
def test_there_are_five_aspects_and_five_examples_with_both_answers_and_no_verdict(name: str) -> None:
    task = find_task(name)
    assert task.label.lower() in NOUNS  # that are read before a letter
    assert len(set(task.aspects)) == 5
    assert len({(one.source, one.first) for one in task.examples}) == 5
    assert {one.better for one in task.examples[:3]} == {"A", "B"}
    assert {one.answer(negated=True) for one in task.examples} == {"A", "B"}
    for one in task.examples:
        assert one.answer(negated=False) == one.better != one.answer(negated=True)
        assert not {one.first, one.second} & {"", one.source}
        assert (one.question != "") == (name in OF_THEIR_OWN)
        assert {"A", "B"} == set(re.findall(rf"{task.label} ([AB])\b", one.comparison, re.IGNORECASE))
        assert not re.search(r"\b(?:better|worse|prefer\w*|best)\b", one.comparison)


@pytest.mark.parametrize("name", FILES)
def test_two_questions_of_a_task_differ_share_no_label_and_are_filled(name: str) -> None:
    plain, negated = (find_task(name).words(question="Which one costs $5?", negated=one) for one in (False, True))
    assert plain["criterion"] != negated["criterion"]
    assert plain["quality"] != negated["quality"]
    assert not set(offer_for(name, False, False).labels) & set(offer_for(name, True, False).labels)
    for words in (plain, negated):
        assert all(words[key].strip() for key in words if key != "rules")
        assert "$question" not in "".join(words.values())
    assert ("$5" in plain["criterion"]) == (name in OF_THEIR_OWN)
