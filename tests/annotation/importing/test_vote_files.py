"""Votes with a winner, and the texts they were given on."""

from typing import Any

import pytest

from annotation.core.errors import BadFile
from annotation.importing.comparisons import import_votes
from annotation.importing.content import StoredInstances
from annotation.importing.ratings import StoredRatings
from annotation.models import Batch, Generation, Matchup, Rating, Study
from tests.factories import csv_file, json_lines, make_study

pytestmark = pytest.mark.django_db


def vote(pair_id: object = 1, **changes: Any) -> dict[str, Any]:
    return {"id": pair_id, "prompt": 8, "left": "alpha", "right": "beta", "worker": "w", "winner": "left", **changes}


def text(pair_id: object = 1, **changes: Any) -> dict[str, Any]:
    return {"id": pair_id, "text": "Prompt.", "result_x": "by alpha", "result_y": "by beta", **changes}


def load(votes: list[Any], texts: list[Any], **changes: Any) -> tuple[Study, StoredInstances, StoredRatings]:
    return import_votes(
        data=csv_file(votes), name="votes.csv", texts=json_lines(texts), texts_name="texts.jsonl",
        **{"slug": "s", "dataset": "prompts", **changes},
    )  # fmt: skip


def refused(votes: list[Any], texts: list[Any], **changes: Any) -> tuple[str, list[str]]:
    with pytest.raises(BadFile) as caught:
        load(votes, texts, **changes)
    return caught.value.name, [str(line) for line in caught.value.lines]


def test_a_winner_is_stored_in_study_order_whatever_side_it_was_on() -> None:
    mirrored = {"left": "beta", "right": "alpha"}
    votes = [
        vote(1, worker="1", winner="left"),
        vote(1, worker="2", winner="tie"),
        vote(1, worker="3", winner="right"),
        vote(2, worker="4", winner="left", **mirrored),
        vote(2, worker="5", winner="right", **mirrored),
    ]
    texts = [text(1), text(2, result_x="by beta", result_y="by alpha")]

    study, stored, ratings = load(votes, texts)

    assert (stored.added, ratings.added) == (1, 5)
    assert study.instances.get().instance_id == "prompt-8"
    assert study.instances.get().source == "Prompt."
    found = Rating.objects.order_by("display__assignment__annotator__code")
    verdicts = [(-1, True), (0, True), (1, True), (1, False), (-1, False)]
    assert list(found.values_list("verdict", "display__a_is_left")) == verdicts
    pair = Matchup.objects.get().pairs.get()
    assert (pair.generation_a.text, pair.generation_b.text) == ("by alpha", "by beta")
    assert Batch.objects.get().name == "prompts: alpha / beta"


def test_the_same_files_again_change_nothing_and_further_votes_are_added() -> None:
    texts = [text(result_y="")]
    load([vote()], texts)
    assert Generation.objects.get(system__name="beta").text == ""  # shown and voted on all the same

    study, stored, ratings = load([vote()], texts)

    assert (stored.added, ratings.added, ratings.unchanged, study.imports.count()) == (0, 0, 1, 1)
    load([vote(worker="another")], texts)
    assert (Rating.objects.count(), Batch.objects.count()) == (2, 1)


def test_systems_that_are_there_may_meet_in_a_later_file() -> None:
    load([vote(1), vote(2, right="gamma")], [text(1), text(2, result_y="by gamma")])

    _, stored, ratings = load(
        [vote(3, left="gamma", right="beta", winner="right")], [text(3, result_x="by gamma", result_y="by beta")]
    )

    assert (stored.added, ratings.added) == (0, 1)
    assert Matchup.objects.filter(system_a__name="gamma", system_b__name="beta").count() == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"winner": "alpha"}, "winner is 'alpha'; it must be left, right or tie"),
        ({"winner": ""}, "winner is missing"),
        ({"worker": " "}, "worker is missing"),
        ({"prompt": ""}, "prompt is missing"),
        ({"right": "alpha"}, "left and right are both 'alpha'"),
        ({"worker": "w" * 201}, "worker is 201 characters long; at most 200 are taken"),
        ({"id": 9}, "texts.jsonl has no texts for id '9'"),
    ],
    ids=str,
)
def test_a_bad_vote_is_listed(change: dict[str, Any], reason: str) -> None:
    assert refused([vote(worker="other"), vote(**change)], [text()]) == ("votes.csv", [f"line 3: {reason}"])


def test_problems_of_both_files_are_listed_together() -> None:
    votes = [vote(winner="both"), vote(2), vote(9, worker="other"), vote(3), vote(4)]
    texts = [text(), text(2, text=" "), text(3), text(4, result_x="another text by alpha")]
    with pytest.raises(BadFile) as caught:
        load(votes, texts)
    assert [(line.number, line.file, line.reason.code) for line in caught.value.lines] == [
        (2, "", "not_one_of"),
        (2, "texts.jsonl", "empty"),
        (4, "", "no_texts_of_id"),
        (6, "", "other_text_before"),
    ]


def test_a_field_that_every_vote_lacks_is_named_once() -> None:
    votes = [{name: value for name, value in vote().items() if name != "worker"}] * 3
    with pytest.raises(BadFile) as caught:
        load(votes, [text()])
    [line] = caught.value.lines
    assert (line.number, line.reason.code, line.reason.values["field"]) == (1, "in_no_record", "worker")


def test_votes_in_json_may_not_smuggle_in_what_no_database_takes() -> None:
    with pytest.raises(BadFile, match="line 1: worker holds a NUL character"):
        import_votes(
            data=json_lines([vote(worker="a\x00b")]), name="v.jsonl", texts=json_lines([text()]), texts_name="t",
            slug="s", dataset="d",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "reasons"),
    [
        ([text(), text()], ["line 2: id '1' is there more than once"]),
        ([text(id="")], ["line 1: id is missing"]),
        ([text(text=" ")], ["line 1: text is empty"]),
        ([{"id": 1, "text": "Prompt.", "result_x": "x"}], ["line 1: right or result_y is missing"]),
        ([text(result_x=None)], ["line 1: result_x is null, not text"]),
        ([text(result_x="\x00")], ["line 1: result_x holds a NUL character"]),
    ],
)
def test_a_bad_text_is_listed_under_its_own_file(texts: list[Any], reasons: list[str]) -> None:
    assert refused([vote()], texts) == ("texts.jsonl", reasons)


def test_texts_that_disagree_on_one_prompt_are_refused() -> None:
    other = [text(1), text(2, result_x="by alpha again", result_y="by gamma")]
    assert refused([vote(1), vote(2, right="gamma")], other)[1] == [
        "line 3: system 'alpha' has another text on prompt-8 before"
    ]
    other = [text(1), text(2, text="Another prompt.", result_y="by gamma")]
    assert refused([vote(1), vote(2, right="gamma")], other)[1] == [
        "line 3: prompt-8 has another source text on line 2"
    ]


def test_a_worker_votes_once_on_a_pair() -> None:
    assert refused([vote(), vote(winner="right")], [text()])[1] == ["line 3: rater w rated this pair on line 2 already"]
    assert Study.objects.count() == 0


def test_texts_that_contradict_the_study_are_refused() -> None:
    make_study("s", instances=0)
    load([vote()], [text()])

    name, reasons = refused([vote()], [text(result_x="changed")])

    assert name == "texts.jsonl"
    assert "with other the generations of alpha" in reasons[0]
