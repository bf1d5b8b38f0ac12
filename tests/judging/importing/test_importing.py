"""Judgments that were made elsewhere, on their way into the database: whole or not at all."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.errors import BadFile, UnknownStudy
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import ImportRecord, Study
from annotation.studies.configurations import configurations
from annotation.studies.outcomes import select
from judging.core.errors import BadSettings
from judging.importing.judgments import judge_name
from judging.importing.services import ImportedJudgments, import_judgments
from judging.methods import Setting, find_method
from judging.methods.baselines import Imported
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.judgments import judgments
from judging.runs.services import start_run
from tests.factories import add_instances, ask_more, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
HEADER = "instance,pair,judge,order,verdict"
TABLE = "subset,llm,strategy,idx,label,winner_noswap,winner_swap"


@pytest.fixture
def study() -> Study:
    """Instances i0, i1, i2 with two pairs each; A is heron, B is wren."""
    texts = {"heron": ["At length.", "Again."], "wren": ["Short.", "Shorter."]}
    rows = [InstanceRow(place + 1, f"i{place}", "talk", "Source.", texts) for place in range(3)]
    return add_instances(make_study("tea", instances=0), rows)


def load(
    *rows: str, header: str = HEADER, slug: str = "tea", name: str = "f.csv", judge: str = ""
) -> ImportedJudgments:
    return import_judgments(data="\n".join([header, *rows, ""]).encode(), name=name, slug=slug, judge=judge)[1]


def refused(*rows: str, header: str = HEADER, name: str = "f.csv") -> list[tuple[int, str]]:
    before = everything()
    with pytest.raises(BadFile) as caught:
        load(*rows, header=header, name=name)
    assert everything() == before
    return [(line.number, line.reason) for line in caught.value.lines]


def otherwise(line: int, stored: str, given: str, *, pair: int = 0) -> tuple[int, Reason]:
    values = {"judge": "gpt", "place": f"instance 'i0', pair {pair}", "order": "ab"}
    return line, refusal("judged_otherwise", **values, stored=stored, given=given)


def everything() -> list[Any]:
    return [
        *(model._base_manager.count() for model in (Judge, Judgment, JudgeRun, ImportRecord)),
        list(JudgeRun.objects.order_by("pk").values_list("pk", "finished_at")),
    ]


def stored() -> list[tuple[Any, ...]]:
    rows = Judgment.objects.order_by("pair__matchup__instance__position", "pair__index", "order")
    return list(rows.values_list("pair__matchup__instance__instance_id", "pair__index", "order", "status", "verdict"))


def gold_study() -> Study:
    """Two data sets whose instances have gold labels: GPTInst (B, A), Natural (A)."""
    study = make_study("gold", instances=0)
    rows = [
        InstanceRow(number, name, dataset, "Source.", {"x": ["one"], "y": ["two"]}, gold={"better": better})
        for number, (name, dataset, better) in enumerate(
            [("g0", "Adversarial_GPTInst", "y"), ("g1", "Adversarial_GPTInst", "x"), ("n0", "Natural", "x")], start=1
        )
    ]
    return add_instances(study, rows)


def test_judgments_are_stored_as_those_of_a_finished_run(study: Study) -> None:
    done = load("i0,0,gpt,ab,a", "i0,0,gpt,ba,b", "i0,1,gpt,ab,tie", "i1,0,gpt,ba,")

    assert (done.added, done.unchanged, done.judges) == (4, 0, {"gpt": "gpt"})
    assert stored() == [
        ("i0", 0, "ab", "parsed", -1),
        ("i0", 0, "ba", "parsed", 1),  # study order: b is system B, whatever was shown first
        ("i0", 1, "ab", "parsed", 0),
        ("i1", 0, "ba", "unparsed", None),
    ]
    run = JudgeRun.objects.get()
    assert (run.judge.method, run.status, run.batch, run.study) == ("imported", "done", None, study)
    assert run.finished_at is not None
    assert Judgment.objects.get(status="unparsed").failure
    assert ImportRecord.objects.get().kind == "judgments"


def test_verdicts_on_further_questions_are_named_by_key(study: Study) -> None:
    ask_more(study, "coherence")
    header = f"{HEADER},question"
    done = load("i0,0,gpt,ab,a,", "i0,0,gpt,ab,b,coherence", "i1,0,gpt,ab,tie,overall", header=header)
    assert (done.added, done.unread) == (3, [])
    assert sorted(Judgment.objects.values_list("question", "verdict")) == [(0, -1), (0, 0), (1, 1)]
    assert [run.questions for run in JudgeRun.objects.order_by("pk")] == [[0], [1]]
    load("i1,0,gpt,ab,a,coherence", header=header)  # of the same run
    assert (JudgeRun.objects.count(), Judgment.objects.for_question(1).count()) == (2, 2)
    selection, judge = select(configurations(study)[0]), Judge.objects.get()
    assert judgments(selection, judge).rated.outcomes.verdict.tolist() == [-1, 0]
    assert judgments(selection, judge, question=1).rated.outcomes.verdict.tolist() == [1, -1]


@pytest.mark.any_engine
def test_an_unknown_question_is_refused_by_line_and_names_those_that_are_asked(study: Study) -> None:
    rows = ("i0,0,gpt,ab,a,overall", "i0,0,gpt,ab,a,length", "i1,0,gpt,ab,a,")
    assert refused(*rows, header=f"{HEADER},question") == [
        (3, refusal("question_not_asked", question="'length'", questions="overall"))
    ]


def test_presentations_are_unique_and_must_agree_question_by_question(study: Study) -> None:
    ask_more(study, "coherence")
    header = f"{HEADER},question"
    assert refused("i0,0,gpt,ab,a,", "i0,0,gpt,ab,a,overall", header=header)[0][1].code == "judged_before"
    load("i0,0,gpt,ab,a,", "i0,0,gpt,ab,b,coherence", header=header)
    assert refused("i0,0,gpt,ab,a,coherence", header=header) == [otherwise(2, "b", "a")]


def test_the_same_file_again_changes_nothing(study: Study) -> None:
    rows = ("i0,0,gpt,ab,a", "i1,0,gpt,ba,")
    load(*rows)
    before = everything()
    again = load(*rows)
    assert (again.added, again.unchanged) == (0, 2)
    assert everything() == before


def test_another_verdict_on_the_same_presentation_is_refused_by_line(study: Study) -> None:
    load("i0,0,gpt,ab,a", "i0,1,gpt,ab,")
    assert refused("i2,0,gpt,ab,a", "i0,0,gpt,ab,tie", "i0,1,gpt,ab,b") == [
        otherwise(3, "a", "tie"),
        otherwise(4, "unparsed", "b", pair=1),
    ]


@pytest.mark.any_engine
def test_every_bad_line_is_listed_and_nothing_is_stored(study: Study) -> None:
    assert refused(
        "i0,0,gpt,ab,a",
        "nope,0,gpt,ab,a",
        "i0,2,gpt,ab,a",
        "i0,,gpt,ab,a",
        "i0,0,gpt,ab,b",
        "i0,0,gpt",
    ) == [
        (3, refusal("no_pairs", instance="'nope'")),
        (4, refusal("no_pair_of_number", instance="'i0'", pair=2, number=2)),
        (5, refusal("pair_not_named", instance="'i0'", number=2)),
        (6, refusal("judged_before", place="instance 'i0', pair 0", order="ab", judge="gpt", line=2)),
        (7, refusal("cells", cells=3, columns=5)),
    ]
    assert refused("i0,0,gpt,xy,A wins", "i0,-1,gpt,ab,a", ",0,,ab,a", f"i0,0,{'g' * 81},ab,a", "i0,0,猫,ab,a") == [
        (2, refusal("not_one_of", field="order", value="'xy'", words="ab or ba")),
        (2, refusal("not_one_of", field="verdict", value="'a wins'", words="a, tie, b or empty")),
        (3, refusal("not_whole", field="pair", value="'-1'", most=1000000000)),
        (4, refusal("missing", field="instance")),
        (4, refusal("missing", field="judge")),
        (5, refusal("judge_name_too_long", judge=repr("g" * 81), most=80)),
        (6, refusal("judge_without_name", judge="'猫'")),
    ]


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("header", "reason"),
    [
        pytest.param("instance,pair,judge,order", refusal("missing_column", column="verdict"), id="plain"),
        pytest.param(
            "subset,llm,strategy,idx,winner_noswap,winner_swap", refusal("missing_column", column="label"), id="table"
        ),
    ],
)
def test_a_missing_column_is_named(study: Study, header: str, reason: Reason) -> None:
    assert refused(",".join("x" for _ in header.split(",")), header=header) == [(1, reason)]


@pytest.mark.any_engine
def test_an_empty_file_is_refused(study: Study) -> None:
    assert refused() == [(1, refusal("no_rows", what="judgments"))]


@pytest.mark.any_engine
def test_a_study_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownStudy, match="no study nope"):
        load("i0,0,gpt,ab,a", slug="nope")


@pytest.mark.any_engine
def test_names_of_models_stay_as_they_are(study: Study) -> None:
    names = ["gpt-4.1", "gpt-4-1", "meta-llama/Llama-3.1-8B", "llama3:8b", "claude@20240620"]
    done = load(*(f"i0,0,{name},ab,a" for name in names))
    assert done.judges == dict(zip(names, names, strict=True))
    assert {(judge.name, *judge.params) for judge in Judge.objects.all()} == {(name,) for name in names}


@pytest.mark.any_engine
def test_names_that_are_none_here_are_turned_into_some(study: Study) -> None:
    done = load("i0,0,GPT-4 (CoT),ab,a")
    judge = Judge.objects.get()
    assert (judge.name, judge.params) == ("GPT-4-CoT", {"label": "GPT-4 (CoT)"})
    assert done.judges == {"GPT-4-CoT": "GPT-4 (CoT)"}
    assert refused("i0,1,GPT-4 CoT,ab,a") == [
        (2, refusal("judge_of_other_label", judge="GPT-4-CoT", stored="'GPT-4 (CoT)'", label="'GPT-4 CoT'"))
    ]
    assert refused("i0,1,new one,ab,a", "i0,1,new-one,ab,a") == [
        (3, refusal("judges_of_one_name", other="'new one'", judge="'new-one'", name="new-one"))
    ]
    assert judge_name("/a/b_c.1 ") == "a/b_c.1"


@pytest.mark.any_engine
def test_a_judge_that_is_run_here_takes_no_verdicts_from_outside(study: Study) -> None:
    tall = Judge.objects.create(name="tall", method="longer")
    run = JudgeRun.objects.create(study=study, judge=tall)
    assert refused("i0,0,tall,ab,a", "i1,0,tall,ab,a") == [  # of a whole export every line would say the same
        (2, refusal("judge_made_here", judge="tall", method="longer"))
    ]
    run.delete()  # of another study its verdicts are those of a judge beside it
    assert load("i0,0,tall,ab,a").judges == {"tall-imported": "tall"}
    assert load("i0,0,tall,ab,a", "i1,0,tall,ab,a").added == 1
    assert list(Judge.objects.order_by("name").values_list("name", "method", "params")) == [
        ("tall", "longer", {}),
        ("tall-imported", "imported", {"label": "tall"}),
    ]


@pytest.mark.any_engine
def test_the_family_of_a_judge_is_kept_and_not_changed(study: Study) -> None:
    header = f"{HEADER},family"
    load("i0,0,gpt,ab,a,openai", header=header)
    assert Judge.objects.get().family == "openai"
    assert load("i0,1,gpt,ab,a").added == 1  # a file that says nothing of it contradicts nothing
    assert refused("i1,0,gpt,ab,a,other", header=header) == [
        (2, refusal("judge_of_other_family", judge="gpt", stored="openai", family="other"))
    ]
    assert refused("i1,0,new,ab,a,x", "i1,1,new,ab,a,y", header=header) == [
        (2, refusal("several_families", judge="'new'", families="x, y"))
    ]


@pytest.mark.any_engine
def test_an_imported_judge_can_not_be_run(study: Study) -> None:
    load("i0,0,gpt,ab,a")
    before = everything()
    with pytest.raises(BadSettings, match="can't be run"):
        find_method("imported").check("free", Setting())
    with pytest.raises(BadSettings, match="can't be run"):
        start_run(study=study, judge=Judge.objects.get())
    with pytest.raises(CommandError, match="judge: "):
        call_command("run_judge", study.slug, "--judge", "gpt")
    assert everything() == before


def test_what_the_verdicts_took_and_why_is_kept(study: Study) -> None:
    header = f"{HEADER},rationale,calls,prompt_tokens,completion_tokens,mood"
    assert load("i0,0,gpt,ab,a,too long,2,100,7,x", header=header).unread == ["mood"]
    judgment = Judgment.objects.get()
    kept = (judgment.rationale, judgment.calls, judgment.prompt_tokens, judgment.completion_tokens)
    assert kept == ("too long", 2, 100, 7)
    assert judgment.parser_version == Imported.parser_version
    [(line, why)] = refused("i0,0,gpt,ab,a,too short", header=f"{HEADER},rationale")
    assert (line, why.code) == (2, "other_rationale")


@pytest.mark.any_engine
def test_systems_are_named_where_an_instance_has_more_than_two() -> None:
    make_study("three", instances=1, k=1, systems=("x", "y", "z"))
    header = f"{HEADER},system_a,system_b"
    with pytest.raises(BadFile, match="more than two systems"):
        load("news-1,0,gpt,ab,a", slug="three")
    with pytest.raises(BadFile, match="no x / w on instance"):
        load("news-1,0,gpt,ab,a,x,w", header=header, slug="three")
    with pytest.raises(BadFile, match="go together"):
        load("news-1,0,gpt,ab,a,x,", header=header, slug="three")
    load("news-1,0,gpt,ab,a,z,x", "news-1,0,gpt,ab,b,y,z", header=header, slug="three")
    rows = Judgment.objects.order_by("pair__matchup__system_a__position")
    # z preferred to x, z shown first: in study order (x, z) that is B preferred, B shown first.
    assert list(rows.values_list("pair__matchup__system_a__name", "order", "verdict")) == [
        ("x", "ba", 1),
        ("y", "ab", 1),
    ]


def test_published_verdicts_make_two_presentations_of_a_row() -> None:
    study = gold_study()
    done = load(
        "LLMBar/Adversarial/GPTInst,GPT-4,CoT,0,2,2,1",
        "LLMBar/Adversarial/GPTInst,GPT-4,CoT,1,1,,2",
        "LLMBar/Natural,GPT-4,CoT,0,1,1,1",
        header=TABLE,
        slug=study.slug,
    )
    assert (done.added, list(done.judges)) == (6, ["GPT-4-CoT"])
    assert stored() == [
        ("g0", 0, "ab", "parsed", 1),
        ("g0", 0, "ba", "parsed", -1),  # mapped back to the outputs already
        ("g1", 0, "ab", "unparsed", None),
        ("g1", 0, "ba", "parsed", 1),
        ("n0", 0, "ab", "parsed", -1),
        ("n0", 0, "ba", "parsed", -1),
    ]


@pytest.mark.any_engine
def test_published_verdicts_on_other_pairs_are_refused() -> None:
    gold_study()
    with pytest.raises(BadFile) as caught:
        load(
            "LLMBar/Natural,GPT-4,CoT,0,2,1,1",
            "LLMBar/Natural,GPT-4,CoT,1,1,1,1",
            "LLMBar/Manual,GPT-4,CoT,0,1,1,1",
            header=TABLE,
            slug="gold",
        )
    assert [(line.number, line.reason) for line in caught.value.lines] == [
        (
            2,
            refusal(
                "other_label", place="number 0 of LLMBar/Natural", here="the first output", in_file="the second output"
            ),
        ),
        (3, refusal("no_instance_of_number", place="number 1 of LLMBar/Natural", dataset="Natural", number=1)),
        (
            4,
            refusal(
                "unknown_subset", which="no data set", subset="LLMBar/Manual", datasets="Adversarial_GPTInst, Natural"
            ),
        ),
    ]
    assert not Judgment.objects.exists()


@pytest.mark.any_engine
def test_wrong_winners_of_published_verdicts_are_listed() -> None:
    gold_study()
    with pytest.raises(BadFile) as caught:
        load("Natural,GPT-4,CoT,0,3,x,1", "Natural,GPT-4,CoT,,1,1,1", header=TABLE, slug="gold")
    assert [(line.number, line.reason) for line in caught.value.lines] == [
        (2, refusal("not_one_of", field="label", value="'3'", words="1 or 2")),
        (2, refusal("not_one_of", field="winner_noswap", value="'x'", words="1, 2 or empty")),
        (3, refusal("missing", field="idx")),
    ]


@pytest.mark.any_engine
def test_votes_with_a_winner_are_those_of_the_judge_that_is_named() -> None:
    study = make_study("tea", instances=0)
    rows = [InstanceRow(1, "prompt-8", "talk", "Source.", {"heron": ["one"], "wren": ["two"], "gull": ["three"]})]
    add_instances(study, rows)
    votes = ("1,8,heron,wren,left", "2,8,wren,gull,tie", "3,8,gull,heron,left")

    done = load(*votes, header="id,prompt,left,right,winner", judge="gpt 4")

    assert (done.added, done.judges, done.unread) == (3, {"gpt-4": "gpt 4"}, [])
    said = Judgment.objects.order_by("pair__matchup__system_a__name", "pair__matchup__system_b__name")
    named = said.values_list("pair__matchup__system_a__name", "pair__matchup__system_b__name", "order", "verdict")
    # Study order is that of the file: heron, wren, gull. The third vote prefers gull, which stood on the left.
    assert list(named) == [("heron", "gull", "ba", 1), ("heron", "wren", "ab", -1), ("wren", "gull", "ab", 0)]
    assert load("1,8,heron,wren,left,gpt 4", header="id,prompt,left,right,winner,judge").added == 0


@pytest.mark.any_engine
def test_votes_with_a_winner_that_name_no_judge_are_refused(study: Study) -> None:
    header = "prompt,left,right,winner"
    assert refused("8,heron,wren,both", header=header) == [
        (2, refusal("missing", field="judge")),
        (2, refusal("not_one_of", field="winner", value="'both'", words="left, tie, right or empty")),
    ]
    with pytest.raises(BadFile, match="only votes with a winner take one name for all"):
        load("i0,0,gpt,ab,a", judge="other")


def test_the_pair_is_optional_where_an_instance_has_one() -> None:
    texts = {"heron": ["At length."], "wren": ["Short."]}
    add_instances(make_study("tea", instances=0), [InstanceRow(1, "i0", "talk", "Source.", texts)])

    assert load("i0,gpt,ab,a", header="instance,judge,order,verdict").added == 1
    assert load("i0,,gpt,ba,a").added == 1
    assert [row[:3] for row in stored()] == [("i0", 0, "ab"), ("i0", 0, "ba")]


@pytest.mark.any_engine
def test_judges_that_differ_by_case_only_are_refused_in_one_list(study: Study) -> None:
    load("i0,0,GPT-4,ab,a", "i0,1,\u200bGPT-4\u00a0,ab,a")
    assert [*Judge.objects.values_list("name", flat=True)] == ["GPT-4"]

    listed = refused("i0,0,gpt-4,ab,a", "i0,0,claude,ab,a", "i0,1,Claude,ab,a", "i9,0,claude,ab,a")

    assert listed == [
        (
            2,
            refusal(
                "judge_near_other",
                problem="gpt-4 differs from the existing GPT-4 by case only; choose another short name",
            ),
        ),
        (4, refusal("judge_lookalike", judge="Claude", other="claude")),
        (5, refusal("no_pairs", instance="'i9'")),
    ]
