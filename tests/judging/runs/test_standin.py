"""The stand-in for an endpoint itself: what tests and benchmarks build on has to behave as it says."""

import pytest

from annotation.core.tasks.stopping import StopFlag
from judging.methods import AskingMethod, find_method, method_names
from judging.models import Judgment, PromptFile
from judging.runs.execution import execute
from judging.runs.services import start_run
from judging.runs.usage import usage_of
from tests.judging.builders import make_endpoint, make_judge, make_study
from tests.standin.process import StandInProcess

pytestmark = pytest.mark.slow


@pytest.mark.django_db
def test_calls_about_the_same_texts_find_their_beginning_in_the_cache_and_cost_less(standin: StandInProcess) -> None:
    standin.behave(prefix_cache=True)
    endpoint = make_endpoint(standin.base_url, price_prompt=1, price_completion=2, cached_discount=0.1)
    judge, study = make_judge(endpoint=endpoint, repeats=4, params={"temperature": 0.7}), make_study(instances=3, k=1)
    run = start_run(study=study, judge=judge)
    assert execute(run.pk, stop=StopFlag()).status == "done"
    told = standin.stats()
    # Of four equal prompts three come from the cache, but for the last part of a step.
    assert 0.6 < told["cached_tokens"] / told["prompt_tokens"] <= 0.75
    paid = told["prompt_tokens"] - 0.9 * told["cached_tokens"] + 2 * told["completion_tokens"]
    assert float(usage_of(run.judgments.all(), "USD").priced) * 1e6 == pytest.approx(paid)


@pytest.mark.django_db
def test_pointwise_judge_says_how_to_do_without_log_probabilities(standin: StandInProcess) -> None:
    standin.behave(rejects=["logprobs"])
    study, endpoint = make_study(instances=1, k=1), make_endpoint(standin.base_url)
    for name, params in (("weighted", {}), ("plain", {"weighted": False})):
        judge = make_judge("pointwise", name=name, endpoint=endpoint, params=params)
        execute(start_run(study=study, judge=judge).pk, stop=StopFlag())
    found = dict(Judgment.objects.values_list("run__judge__name", "status"))
    assert found == {"weighted": "error", "plain": "parsed"}
    assert Judgment.objects.get(status="error").failure.code == "no_logprobs_taken"


SHOWS = "[$fence begin] $source $first $second [$fence end] $question"
FORMS = (
    ("brackets", "Say [[A]] or [[B]]."),
    ("brackets", "Say [[A>B]], [[A=B]] or [[B>A]]."),
    ("brackets", "End with [RESULT] and A or B."),
    ("verdict-line", "End with \\boxed{A} or \\boxed{B}."),
    ("model-letter", "Say m or M, and nothing else."),
    ("letter", "<A or B>"),
)


@pytest.mark.django_db
@pytest.mark.parametrize("how", [pytest.param("first", marks=pytest.mark.weekly), "second"])
def test_every_method_reads_what_it_says(standin: StandInProcess, how: str) -> None:
    standin.behave(answer=how)
    study, endpoint = make_study(instances=1, k=1), make_endpoint(standin.base_url)
    asking = [name for name in method_names() if isinstance(find_method(name), AskingMethod)]
    assert {"direct", "prepair", "ranked-function", "token-preference"} <= set(asking)
    judges = [make_judge(name, name=f"j{number}", endpoint=endpoint) for number, name in enumerate(asking)]
    for number, (parser, form) in enumerate(FORMS if how == "second" else ()):
        wording = PromptFile.objects.create(name=f"p{number}", version=1, parser=parser, text=f"{SHOWS}\n{form}")
        judges.append(make_judge("direct", name=f"own{number}", endpoint=endpoint, prompt_file=wording))
    for judge in judges:
        run, name = start_run(study=study, judge=judge), judge.name
        assert execute(run.pk, stop=StopFlag()).status == "done"
        outcomes = set(run.judgments.values_list("status", "verdict"))
        wanted = {("parsed", -1 if how == "first" else 1)}
        assert outcomes == wanted or (judge.method == "pointwise" and {one[0] for one in outcomes} == {"parsed"}), (
            name,
            outcomes,
        )
