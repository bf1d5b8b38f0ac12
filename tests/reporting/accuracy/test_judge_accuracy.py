"""Judges against gold labels: numbers by subset, as command, page and files."""

import csv
import io
import json
import re
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotation.core.reasons import Reason
from annotation.core.tables import latex_text
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Instance, Pair, Study
from annotation.studies.instances import tags_of
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment, RationaleMark
from judging.outcomes.gold import gold_pairs
from reporting.accuracy.accuracies import MEASURE_NAMES, NO_ANSWER, NO_GOLD, judge_accuracy
from reporting.accuracy.files import COLUMNS, csv_rows, latex
from tests.factories import add_instances, make_study, make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "reporting:judge-accuracy"


def row(name: str, gold: dict[str, Any] | None, dataset: str = "news", **metadata: Any) -> InstanceRow:
    texts = {"alpha": ["one"], "beta": ["two"]}
    return InstanceRow(1, name, dataset, f"Source of {name}.", texts, gold=gold, metadata=metadata)


def store() -> Study:
    """Gold: A, A, B in `news` (the third adversarial), a tie in `chat`, nothing known of the last."""
    study = make_study("judged", instances=0)
    return add_instances(
        study,
        [
            row("n1", {"better": "alpha"}, tags=["natural"]),
            row("n2", {"scores": {"alpha": 3, "beta": 1.5}}, tags=["natural"]),
            row("n3", {"scores": {"alpha": 1, "beta": 2}}, tags=["adversarial"]),
            row("c1", {"better": "tie"}, dataset="chat"),
            row("c2", None, dataset="chat"),
        ],
    )


def pair(study: Study, name: str) -> Pair:
    return Pair.objects.get(matchup__instance__study=study, matchup__instance__instance_id=name)


def make_run(study: Study, name: str = "judy", method: str = "direct", **settings: Any) -> JudgeRun:
    judge, _ = Judge.objects.get_or_create(name=name, defaults={"method": method, **settings})
    return JudgeRun.objects.create(study=study, judge=judge, status="done")


def fill(run: JudgeRun, name: str, order: str, answer: int | str, **more: Any) -> Judgment:
    """Store an answer: a verdict, or the status of an answer without one."""
    status = answer if isinstance(answer, str) else "parsed"
    verdict = None if isinstance(answer, str) else answer
    return Judgment.objects.create(
        run=run, pair=pair(run.study, name), order=order, status=status, verdict=verdict, **more
    )


def answers(run: JudgeRun, cells: dict[str, tuple[int | str, int | str]], **more: Any) -> None:
    for name, both in cells.items():
        for order, answer in zip(("ab", "ba"), both, strict=True):
            fill(run, name, order, answer, **more)


@pytest.fixture
def judged(study: Study) -> Study:
    """One judge in both orders: right, first text, unparsed once, right about the tie, and a pair without gold."""
    run = make_run(study)
    answers(run, {"n1": (-1, -1), "n2": (-1, 1), "n3": (1, "unparsed"), "c1": (0, 0), "c2": (1, 1)})
    return study


def subset(found: dict[str, Any], name: str, judge: str = "judy") -> dict[str, Any]:
    (of_judge,) = (one for one in found["judges"] if one["judge"] == judge)
    (found_row,) = (one for one in of_judge["subsets"] if one["subset"] == name)
    return dict(found_row)


def values(found_row: dict[str, Any]) -> dict[str, float | None]:
    return {name: found_row[name]["value"] for name in MEASURE_NAMES}


def page_of(study: Study) -> Any:
    return signed_in(make_user("reader", "researcher", study=study)).get(reverse(PAGE, args=[study.slug]))


def test_every_number_by_hand(judged: Study) -> None:
    everything = subset(judge_accuracy(judged), "all")
    assert {key: everything[key] for key in ("instances", "pairs", "asked", "a", "tie", "b", "unparsed")} == {
        "instances": 4,
        "pairs": 4,  # the pair without gold is in none
        "asked": 8,
        "a": 3,
        "tie": 2,
        "b": 2,
        "unparsed": 1,
    }
    found = values(everything)
    assert found["accuracy"] == (1 + 0.5 + 0.5 + 1) / 4
    assert found["accuracy_ab"] == 1.0
    assert found["accuracy_ba"] == 2 / 4  # n1 and the tie; the unparsed answer is not right
    assert found["accuracy_both_orders_right"] == 2 / 4
    assert found["accuracy_when_orders_agree"] == 2 / 2
    assert found["positional_agreement"] == 2 / 3
    assert found["first_position_rate"] == 3 / 5  # n1 once of two, n2 twice of two, n3 not; ties are left out
    assert everything["first_position_rate"]["excluded"] == 2
    assert everything["positional_agreement"]["excluded"] == 1
    assert (everything["accuracy"]["low"], everything["accuracy"]["n_instances"]) == (None, 4)
    rows = list(csv_rows(judge_accuracy(judged)))
    assert (len(rows), set(rows[-1])) == (5, set(COLUMNS))
    assert (rows[-1]["subset"], rows[-1]["accuracy"], rows[-1]["accuracy_n"]) == ("all", 0.75, 4)
    assert (rows[-1]["accuracy_low"], rows[-1]["unparsed"]) == (None, 1)


def test_subsets_are_data_sets_tags_and_all(judged: Study) -> None:
    found = judge_accuracy(judged)
    assert [(one["kind"], one["subset"], one["pairs"]) for one in found["subsets"]] == [
        ("dataset", "chat", 1),
        ("dataset", "news", 3),
        ("tag", "adversarial", 1),
        ("tag", "natural", 2),
        ("all", "all", 4),
    ]
    assert found["subsets"][-1]["gold"] == {"a": 2, "tie": 1, "b": 1}
    assert values(subset(found, "natural"))["accuracy"] == 0.75
    assert values(subset(found, "adversarial"))["accuracy_ba"] == 0.0
    assert subset(found, "chat")["accuracy"]["why_code"] == "too_few"  # one instance


@pytest.mark.parametrize(
    ("metadata", "tags"),
    [
        pytest.param({"tags": ["a", "b", "a"]}, ("a", "b"), id="list"),
        pytest.param({"tags": "a"}, ("a",), id="text"),
        pytest.param({"tag": "a", "tags": ["b"]}, ("b", "a"), id="both"),
        pytest.param({"tags": [1, "", None, "a"]}, ("a",), id="what-is-no-text"),
        pytest.param({"tags": {"a": 1}}, (), id="object"),
        pytest.param({}, (), id="none"),
    ],
)
def test_tags_are_read_from_metadata(metadata: dict[str, Any], tags: tuple[str, ...]) -> None:
    assert tags_of(metadata) == tags


def test_gold_by_scores_prefers_the_higher_and_takes_equal_ones_for_a_tie(study: Study) -> None:
    add_instances(study, [row("n4", {"scores": {"alpha": 2, "beta": 2}}), row("n5", {"scores": {"alpha": 2}})])
    assert gold_pairs(study).gold.tolist() == [-1, -1, 1, 0, 0]  # n5 lacks a score and is left out


def test_errors_are_no_answers_and_refusals_are(study: Study) -> None:
    run = make_run(study)
    answers(run, {"n1": ("error", -1), "n2": ("refused", "pending"), "n3": ("error", "error")})
    found = subset(judge_accuracy(study), "all")
    assert (found["asked"], found["errors"], found["refused"], found["unparsed"]) == (5, 3, 1, 0)
    assert (found["accuracy_ab"]["value"], found["accuracy_ab"]["n"], found["accuracy_ab"]["excluded"]) == (0.0, 1, 2)
    assert (found["accuracy_ba"]["value"], found["accuracy_ba"]["n"], found["accuracy_ba"]["excluded"]) == (1.0, 1, 1)
    assert found["accuracy"]["value"] == 0.5
    assert found["accuracy_both_orders_right"]["why_code"] == "not_both_orders"


def test_only_plain_first_answers_count_and_the_latest_run_wins(study: Study) -> None:
    run = make_run(study)
    fill(run, "n1", "ab", 1)
    fill(run, "n1", "ab", -1, repeat=1)
    fill(run, "n1", "ab", -1, negated=True)
    assert subset(judge_accuracy(study), "all")["accuracy"]["value"] == 0.0
    batch = study.batches.create(
        name="b", dataset="news", system_a=study.systems.first(), system_b=study.systems.last(),
        pairs_per_hit=1, raters_per_hit=1,
    )  # fmt: skip
    later = JudgeRun.objects.create(study=study, judge=run.judge, batch=batch, status="running")
    fill(later, "n1", "ab", "pending")
    assert subset(judge_accuracy(study), "all")["accuracy"]["value"] == 0.0
    later.judgments.update(status="parsed", verdict=-1)
    found = subset(judge_accuracy(study), "all")
    assert (found["asked"], found["accuracy"]["value"]) == (1, 1.0)


def test_calls_and_tokens_count_stored_answers_too(study: Study) -> None:
    run = make_run(study)
    first = fill(run, "n1", "ab", -1, calls=3, cached=0, prompt_tokens=300, completion_tokens=30)
    second = fill(run, "n1", "ba", "unparsed", calls=3, cached=2, prompt_tokens=100, completion_tokens=10)
    shared = [
        Completion.objects.create(cache_key=str(n), request={}, prompt_tokens=100, completion_tokens=10)
        for n in range(4)
    ]
    first.completions.set(shared[:3])
    second.completions.set([*shared[:2], shared[3]])
    kept = fill(make_run(study, "kept"), "n1", "ab", -1, calls=1, cached=1)
    kept.completions.add(Completion.objects.create(cache_key="k", request={}, prompt_tokens=50, completion_tokens=5))
    found = values(subset(judge_accuracy(study), "all", "kept"))
    assert (found["calls_per_verdict"], found["calls_made_per_verdict"]) == (1, 0)
    assert (found["tokens_per_verdict"], found["tokens_made_per_verdict"]) == (55, 0)
    found = subset(judge_accuracy(study), "all")
    # One verdict came of six answers, four of them made; each took 110 tokens.
    assert found["calls_per_verdict"]["value"] == 6
    assert found["calls_made_per_verdict"]["value"] == 4
    assert found["tokens_per_verdict"]["value"] == 660
    assert found["tokens_made_per_verdict"]["value"] == 440


def test_what_verdicts_from_elsewhere_took_is_unknown_unless_told(study: Study) -> None:
    fill(make_run(study, "silent", "imported"), "n1", "ab", -1)
    fill(make_run(study, "telling", "imported"), "n1", "ab", -1, calls=2, prompt_tokens=7)
    fill(make_run(study, "tall", "longer"), "n1", "ab", -1)
    found = judge_accuracy(study)
    assert subset(found, "all", "silent")["calls_per_verdict"]["why_code"] == "cost_unknown"
    assert values(subset(found, "all", "telling"))["tokens_per_verdict"] == 7
    assert values(subset(found, "all", "tall"))["calls_per_verdict"] == 0


def test_intervals_do_not_depend_on_other_judges(judged: Study) -> None:
    alone = subset(judge_accuracy(judged), "all")
    answers(make_run(judged, "another"), {"n1": (1, -1), "n2": (1, 1), "n3": (-1, -1), "c1": (0, 1)})
    fill(make_run(judged, "third"), "n1", "ab", 1)
    assert subset(judge_accuracy(judged), "all") == alone


def test_a_tag_on_all_of_a_data_set_has_its_numbers(study: Study) -> None:
    rows = [row(f"t{number}", {"better": "alpha"}, dataset="one", tags=["same"]) for number in range(5)]
    add_instances(study, rows)
    answers(make_run(study), {f"t{number}": (-1, -1 if number % 2 else 1) for number in range(5)})
    found = judge_accuracy(study)
    dataset, tag = subset(found, "one"), subset(found, "same")
    assert dataset["accuracy"]["low"] < dataset["accuracy"]["high"]
    assert {name: dataset[name] for name in MEASURE_NAMES} == {name: tag[name] for name in MEASURE_NAMES}


def test_sound_rationales_that_end_in_wrong_verdicts_are_counted(study: Study) -> None:
    run = make_run(study)
    right, wrong, also_wrong = fill(run, "n1", "ab", -1), fill(run, "n2", "ab", 1), fill(run, "n3", "ab", 0)
    disputed, silent = fill(run, "n2", "ba", 1), fill(run, "n3", "ba", "unparsed")
    ann, bob = make_user("ann"), make_user("bob")
    for judgment, marks in ((right, [1]), (wrong, [1, 1]), (also_wrong, [0]), (disputed, [1, 0]), (silent, [1])):
        for marker, sound in zip((ann, bob), marks, strict=False):
            RationaleMark.objects.create(judgment=judgment, marker=marker, sound=bool(sound), marked_at=timezone.now())
    found = subset(judge_accuracy(study), "all")
    assert (found["wrong_when_sound"]["value"], found["wrong_when_sound"]["n"]) == (1 / 2, 2)
    assert (found["sound_when_wrong"]["value"], found["sound_when_wrong"]["n"]) == (1 / 2, 2)
    assert found["wrong_when_sound"]["excluded"] == 2  # those who disagree, and the rationale without a verdict
    assert "Sound rationales" in page_of(study).text


@pytest.mark.parametrize(
    ("gold", "why"),
    [pytest.param(None, NO_GOLD, id="no-gold"), pytest.param({"better": "alpha"}, NO_ANSWER, id="no-judge")],
)
def test_a_study_with_nothing_to_measure_says_why(gold: Any, why: Reason, capsys: pytest.CaptureFixture[str]) -> None:
    study = add_instances(make_study("bare", instances=0), [row("n1", gold)])
    found = judge_accuracy(study)
    assert found["why_code"] == why.code
    assert why.text.capitalize() in page_of(study).text
    for form in ("text", "latex"):
        call_command("judge_accuracy", "bare", "--format", form)
        assert why.text in capsys.readouterr().out
    call_command("judge_accuracy", "bare", "--format", "csv")
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_command_prints_what_the_page_downloads(judged: Study, capsys: pytest.CaptureFixture[str]) -> None:
    client = signed_in(make_user("reader", "researcher"))
    printed = {}
    for form, ending in (("json", "json"), ("csv", "csv"), ("latex", "tex")):
        call_command("judge_accuracy", "judged", "--format", form)
        printed[form] = capsys.readouterr().out
        answer = client.get(reverse("reporting:judge-accuracy-file", args=["judged", ending]))
        assert f'filename="judged-judge-accuracy.{ending}"' in answer["Content-Disposition"]
        sent = answer.content.decode()
        assert json.loads(sent) == json.loads(printed[form]) if form == "json" else sent == printed[form]
    assert json.loads(printed["json"]) == judge_accuracy(judged)
    call_command("judge_accuracy", "judged")
    assert "75.0%" in capsys.readouterr().out


def test_names_from_outside_run_nothing_in_any_file(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "=cmd()\\input{x} & <script>alert(1)</script> \x1b[31m"
    add_instances(study, [row("e1", {"better": "alpha"}, dataset=evil)])
    fill(make_run(study), "e1", "ab", -1)
    found = judge_accuracy(study)
    call_command("judge_accuracy", study.slug, "--format", "csv")
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert [row["subset"][:7] for row in rows if row["kind"] == "dataset"] == ["'=cmd()"]
    written = latex(found)
    assert r"=cmd()\textbackslash{}input\{x\} \& " in written
    assert "\\input{x}" not in written
    assert "\x1b" not in written
    call_command("judge_accuracy", study.slug)
    assert "\x1b" not in capsys.readouterr().out
    page = page_of(study).text
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_latex_text_is_printed_as_it_is_and_in_one_line() -> None:
    assert latex_text("a_b {50%}\n$x^2~#&\\") == (
        r"a\_b \{50\%\} \$x\textasciicircum{}2\textasciitilde{}\#\&\textbackslash{}"
    )


def test_latex_tables_hold_percentages_by_subset(judged: Study) -> None:
    fill(make_run(judged, "few"), "n1", "ab", -1)
    written = latex(judge_accuracy(judged))
    assert "Judge & chat (1) & news (3) & adversarial (1) & natural (2) & all (4)" in written
    assert r"judy & 100.00 & 66.67 & 50.00 & 75.00 & 75.00 \\" in written
    assert r"few & -- & 100.00 (1) & -- & 100.00 (1) & 100.00 (1) \\" in written
    assert written.count(r"\begin{table}") == written.count(r"\end{table}") == 6


def test_wrong_verdicts_are_drawn_by_a_button(judged: Study) -> None:
    client = signed_in(make_user("reader", "researcher"))
    page = client.get(reverse(PAGE, args=["judged"])).text
    form = page.partition(f'action="{reverse("judging:compare", args=[judged.slug])}"')[2].partition("</form>")[0]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]+)"', form))
    name = re.findall(r"<option>(.*?)</option>", form)[0]
    told = client.get(reverse("judging:compare", args=[judged.slug]), {**fields, "first": name})
    assert (told.status_code, told.context["beside"]) == (200, "gold labels")


def test_judges_are_in_the_order_of_accuracy_and_a_tag_that_is_a_data_set_has_no_column(judged: Study) -> None:
    Instance.objects.filter(dataset="chat").update(metadata={"tags": ["talk"]})
    fill(make_run(judged, "few"), "n1", "ab", -1)
    context = page_of(judged).context
    assert [row["judge"]["judge"] for row in context["overview"]] == ["few", "judy"]
    headings = [str(heading).partition(" ")[0] for heading, _cell in context["overview"][0]["cells"]]
    assert headings == ["All", "chat", "news", "adversarial", "natural"]
    values = [(row["judge"], row["accuracy"]["value"]) for row in context["leading"]]
    assert values == [(row["judge"]["judge"], row["cells"][0][1]["value"]) for row in context["overview"]]
    assert "talk" in [subset["subset"] for subset in judge_accuracy(judged)["subsets"]]


def test_queries_do_not_grow_with_judges_or_pairs(judged: Study, django_assert_max_num_queries: Any) -> None:
    client, address = signed_in(make_user("reader", "researcher")), reverse(PAGE, args=["judged"])
    with django_assert_max_num_queries(14) as few:
        client.get(address)
    add_instances(judged, [row(f"m{number}", {"better": "beta"}, dataset=f"d{number}") for number in range(4)])
    endpoint = Endpoint.objects.create(name="e", base_url="https://models.example/v1", model="m")
    for name in ("two", "three"):
        answers(make_run(judged, name, endpoint=endpoint), {f"m{number}": (1, -1) for number in range(4)})
    with django_assert_max_num_queries(len(few)):
        client.get(address)


def test_wordings_of_one_judge_have_a_table_with_their_spread(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint = Endpoint.objects.create(name="local", base_url="http://127.0.0.1:1/v1", model="m")
    settings = {"endpoint": endpoint, "params": {"max_tokens": 9}}
    # Right on both of news' first two pairs, on one of them, on none; the fourth differs by more than its wording.
    for name, task, answers in (("a", "free", (-1, -1)), ("b", "<i>x</i>", (-1, 1)), ("c", "chat", (1,))):
        run = make_run(study, name, task=task, **settings)
        for instance, answer in zip(("n1", "n2"), answers, strict=False):
            fill(run, instance, "ab", answer)
    fill(make_run(study, "d", task="summarization", endpoint=endpoint), "n1", "ab", -1)
    fill(make_run(study, "e", task="free", **settings), "n1", "ab", 1)  # the same wording as a, and fewer answers
    [one] = judge_accuracy(study)["wordings"]
    assert [judge["judge"] for judge in one["judges"]] == ["a", "b", "c"]
    by_subset = {row["subset"]: row for row in one["subsets"]}
    assert by_subset["news"]["pairs"] == [1, 2]
    # Of 1, 1/2 and 0: mean 1/2, standard deviation √((1/4 + 0 + 1/4) / 2) = 1/2.
    assert by_subset["all"]["accuracy"] == {"n": 3, "value": 0.5, "low": 0.0, "high": 1.0, "sd": 0.5}
    call_command("judge_accuracy", study.slug)
    assert "50.0% [0.0, 100.0], sd 50.0; 1 to 2 pairs" in capsys.readouterr().out
    assert r"50.00 $\pm$ 50.00 {\scriptsize [0.0, 100.0]}" in latex(judge_accuracy(study))
    client = signed_in(make_user("wren", "researcher", study=study))
    page = client.get(reverse(PAGE, args=[study.slug])).text
    assert "50.0% <small>0.0% to 100.0%, sd 50.0 points; n = 3</small>" in page
    assert "(<bdi>&lt;i&gt;x&lt;/i&gt;</bdi>)" in page
    address = reverse("reporting:judge-accuracy-wordings", args=[study.slug])
    assert f'href="{address}"' in page
    sent = client.get(address).text
    call_command("judge_accuracy", study.slug, "--format", "wordings")
    assert capsys.readouterr().out == sent
    rows = {row["subset"]: row for row in csv.DictReader(io.StringIO(sent))}
    assert list(rows) == list(by_subset)
    news = rows["news"]
    assert [news[key] for key in ("judges", "wordings", "model")] == ["a; b; c", "free; <i>x</i>; chat", "m"]
    parts = ("pairs_least", "pairs_most", "accuracy", "accuracy_sd", "accuracy_low", "accuracy_high", "accuracy_n")
    assert [float(news[key]) for key in parts] == [1, 2, 0.5, 0.5, 0, 1, 3]
