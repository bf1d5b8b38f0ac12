"""The engine with procedures of several calls: rounds, reuse, samples, what is paid by whom, and taking up half-way."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from annotation.models import Generation
from judging.calls.cases import StoredAnswer
from judging.calls.session import JudgmentPool
from judging.core.errors import RejectedCall, TransientFailure
from judging.jobs import leases
from judging.jobs.progress import Progress, RunWork
from judging.methods import Reply, base
from judging.models import Completion, Judgment
from judging.runs.cells import RunWorkerSession
from judging.runs.services import start_run
from tests.fakes import Body, ScriptedClient, chat_completion
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study
from tests.judging.methods.methods import Noted, Polled

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PRICES = {"price_prompt": Decimal(1000), "price_completion": Decimal(10_000)}
CALL = Decimal("0.081")  # 11 prompt tokens at 0.001 and 7 others at 0.01
SPENT = ("prompt_tokens", "completion_tokens", "cost")


@pytest.fixture(autouse=True)
def _methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(base._METHODS, "noted", Noted())
    monkeypatch.setitem(base._METHODS, "polled", Polled())


class Talker(ScriptedClient):
    """A client whose answers depend on the question: notes on critiques, a letter on verdicts."""

    def __init__(self, answer: Callable[[str], str | Exception | dict[str, Any]] | None = None) -> None:
        super().__init__()
        self.answer = answer or (lambda asked: "*fine" if asked.startswith("critique") else "A")

    @property
    def asked(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.bodies]

    @property
    def kinds(self) -> list[str]:
        return [asked.partition(":")[0] for asked in self.asked]

    async def complete(self, body: Body) -> Any:
        self.script = [self.answer(body["messages"][0]["content"])]
        return await super().complete(body)


def judge_named(method: str, **settings: Any) -> Any:
    return make_judge(method, endpoint=make_endpoint(**PRICES), **settings)


def test_reusable_calls_are_made_once_for_both_orders_both_questions_and_other_judges() -> None:
    study = make_study(instances=1, k=1)
    judge = judge_named("noted", order="both", repeats=2, negated=True)
    client = Talker()
    judge_with(client, study, judge)
    assert sorted(client.kinds) == ["critique"] * 4 + ["verdict"] * 8  # a repeat repeats what its verdicts build on
    other = Talker()
    judge_with(other, study, make_judge("noted", endpoint=judge.endpoint, name="other", seed=99, order="ba"))
    assert other.kinds == ["verdict"]
    assert Judgment.objects.filter(run__judge__name="other").values_list("calls", "cached").get() == (3, 2)


def test_second_round_is_asked_with_the_first_and_each_cell_pays_for_its_own_calls() -> None:
    client, study = Talker(), make_study(instances=1, k=1)
    judge_with(client, study, judge_named("noted", order="both"), in_flight=1)
    assert client.kinds == ["critique", "critique", "verdict", "verdict"]
    assert "['*fine', '*fine']" in client.asked[-1]
    assert set(Judgment.objects.values_list("order", "verdict", "rationale")) == {
        ("ab", -1, "*fine *fine"),
        ("ba", 1, "*fine *fine"),
    }
    assert sorted(Completion.objects.values_list("kind", flat=True)) == sorted(client.kinds)
    first, second = Judgment.objects.order_by("pk").values_list("calls", "cached", *SPENT)
    assert first == (3, 0, 33, 21, 3 * CALL)
    assert second == (3, 2, 11, 7, CALL)
    assert set(Completion.objects.values_list("cost", flat=True)) == {CALL}


def test_repeats_are_samples_of_their_own_and_the_negated_question_turns_the_verdict() -> None:
    client = Talker(lambda asked: "*" if asked.startswith("critique") else "B" if "worse?" in asked else "A")
    judge_with(client, make_study(instances=1, k=1), judge_named("noted", repeats=2, negated=True))
    rows = set(Judgment.objects.values_list("repeat", "negated", "verdict"))
    assert rows == {(0, False, -1), (1, False, -1), (0, True, -1), (1, True, -1)}
    seeds = [body["seed"] for body in client.bodies if "verdict" in str(body["messages"])]
    assert len(set(seeds)) == 2  # plain and negated differ by their words, repeats by their seeds


def test_probability_and_scores_are_turned_into_study_order() -> None:
    judge_with(Talker(), make_study(instances=1, k=1), judge_named("polled", order="both"))
    found = {order: rest for order, *rest in Judgment.objects.values_list("order", "p_b", "score_a", "score_b")}
    assert found == {"ab": [0.25, 2.0, 3.0], "ba": [0.75, 3.0, 2.0]}


def test_optional_answer_that_can_not_be_read_or_is_refused_is_left_out() -> None:
    script: list[Any] = ["?", "?", "?", "A", chat_completion(None, refusal="No."), ZeroDivisionError()]
    client = ScriptedClient(script)
    judge_with(client, make_study(instances=1, k=1), judge_named("polled"), in_flight=1)
    assert Judgment.objects.values_list("status", "verdict", "calls").get() == ("parsed", -1, 5)
    assert len(client.bodies) == 5


def test_readable_answers_that_give_no_verdict_together_are_unparsed() -> None:
    client = Talker(lambda asked: "?")
    judge_with(client, make_study(instances=1, k=1), judge_named("polled"))
    assert Judgment.objects.values_list("status", "failure", "calls").get() == (
        "unparsed",
        reason("text", text="nobody voted"),
        9,
    )


def test_a_failing_call_ends_its_cell_and_the_answers_beside_it_are_kept() -> None:
    study, judge = make_study(instances=1, k=1), judge_named("noted")
    client = Talker(lambda asked: RejectedCall("HTTP 400") if "Heron" in asked else "*fine")
    judge_with(client, study, judge)
    assert Judgment.objects.values_list("status", *SPENT).get() == ("error", 11, 7, CALL)
    again = Talker()
    judge_with(again, study, judge)
    assert again.kinds == ["critique", "verdict"]
    found = Judgment.objects.values_list("status", "calls", "cached", *SPENT).get()
    assert found == ("parsed", 3, 0, 33, 21, 3 * CALL)  # the kept one was this cell's own


GONE = RejectedCall("HTTP 404: no such model", request_only=False)
REJECTED = RejectedCall("HTTP 400: temperature")
NEW_CELL_VALUES = {**chat_completion("A"), "choices": []}


@pytest.mark.parametrize(
    ("script", "calls", "missing"),
    [
        pytest.param([REJECTED] * 3, 0, 3, id="none got an answer"),
        pytest.param([REJECTED, *["?"] * 6], 6, 1, id="no verdict without the missing one"),
        pytest.param(["A", GONE, GONE], 1, 2, id="the endpoint is gone"),
    ],
)
def test_cell_that_lacks_answers_is_an_error_and_asks_for_these_alone_next_time(
    script: list[Any], calls: int, missing: int
) -> None:
    study, judge = make_study(instances=1, k=1), judge_named("polled")
    judge_with(ScriptedClient(script), study, judge, in_flight=1)
    why = next(failure for failure in script if isinstance(failure, RejectedCall)).reason
    assert Judgment.objects.values_list("status", "failure", "calls").get() == ("error", why, calls)
    client = Talker()
    judge_with(client, study, judge)
    assert (len(client.bodies), Judgment.objects.get().status) == (missing, "parsed")


def test_answer_of_no_use_is_paid_for_and_asked_again() -> None:
    study = make_study(instances=1, k=1)
    ended = judge_with(ScriptedClient([NEW_CELL_VALUES, "A", "A", "A"]), study, judge_named("polled"), in_flight=1)
    found = Judgment.objects.values_list("status", "calls", "cached", *SPENT).get()
    assert found == ("parsed", 4, 0, 44, 28, 4 * CALL)
    assert (ended.progress.cost, ended.progress.errors) == (4 * CALL, {"no choice": 1})
    assert Completion.objects.filter(cache_key=None).values_list("finish_reason", "cost").get() == ("unusable", CALL)


def test_answers_of_no_use_end_the_cell_after_three_and_stay_paid_for() -> None:
    study, judge = make_study(instances=1, k=1), judge_named("noted")
    client = Talker(lambda asked: NEW_CELL_VALUES if asked.startswith("verdict") else "*fine")
    judge_with(client, study, judge)
    assert client.kinds == ["critique"] * 2 + ["verdict"] * 3
    found = Judgment.objects.values_list("status", "failure", "calls", *SPENT).get()
    assert found == ("error", reason("no_completion_choice"), 5, 55, 35, 5 * CALL)
    judge_with(Talker(), study, judge)
    found = Judgment.objects.values_list("status", "calls", "cached", *SPENT).get()
    assert found == ("parsed", 6, 0, 66, 42, 6 * CALL)


def test_answers_that_come_after_a_cell_has_ended_are_counted_as_its_own() -> None:
    def answer(asked: str) -> Any:
        return GONE if "Heron" in asked else "*fine"

    study, judge = make_study(instances=1, k=1), judge_named("noted")
    judge_with(Talker(answer), study, judge)
    assert Judgment.objects.values_list("status", "calls", *SPENT).get() == ("error", 1, 11, 7, CALL)


def test_better_parser_leaves_answers_of_no_use_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    study, judge = make_study(instances=1, k=1), judge_named("polled")
    judge_with(ScriptedClient([NEW_CELL_VALUES, "A", "A", "A"]), study, judge, in_flight=1)
    monkeypatch.setattr(Polled, "parser_version", "polled.2")
    judge_with(ScriptedClient([ZeroDivisionError()]), study, judge)
    assert Judgment.objects.values_list("status", "parser_version", "calls").get() == ("parsed", "polled.2", 4)


def test_answers_that_others_paid_for_stay_cached_ones_when_a_cell_is_asked_again_after_an_error() -> None:
    study = make_study(instances=1, k=1)
    judge = judge_named("noted")
    judge_with(Talker(), study, judge)
    other = make_judge("noted", endpoint=judge.endpoint, name="other", seed=99)
    judge_with(Talker(lambda asked: RejectedCall("HTTP 400")), study, other)
    judge_with(Talker(), study, other)
    found = Judgment.objects.filter(run__judge=other).values_list("status", "calls", "cached", *SPENT).get()
    assert found == ("parsed", 3, 2, 11, 7, CALL)


def test_the_same_reusable_call_in_flight_is_shared() -> None:
    study = make_study(instances=1, k=3)
    study.systems.get(name="heron").generations.update(text="The same by Heron.")
    client = Talker()
    judge_with(client, study, judge_named("noted"), in_flight=8)
    assert sorted(client.kinds) == ["critique"] * 4 + ["verdict"] * 3


def test_a_run_stopped_between_rounds_asks_no_question_again_and_knows_what_it_has_paid() -> None:
    study, judge = make_study(instances=1, k=1), judge_named("noted")
    stop = StopFlag()

    def last_words(asked: str) -> str:
        if "Wren" in asked:
            stop.set()
        return "*fine"

    first = Talker(last_words)
    assert judge_with(first, study, judge, stop=stop, in_flight=1).status == "paused"
    assert Judgment.objects.values_list("status", *SPENT).get() == ("pending", 22, 14, 2 * CALL)
    second = Talker()
    judge_with(second, study, judge)
    assert first.kinds + second.kinds == ["critique", "critique", "verdict"]
    found = Judgment.objects.values_list("calls", "cached", *SPENT).get()
    assert found == (3, 0, 33, 21, 3 * CALL)


def test_calls_of_cells_under_way_go_before_those_of_new_cells() -> None:
    client = Talker()
    judge_with(client, make_study(instances=4, k=1), judge_named("noted"), in_flight=1)
    assert client.kinds == ["critique", "critique", "verdict"] * 4


def test_limit_fills_so_many_cells_and_leaves_the_rest() -> None:
    study, judge = make_study(), judge_named("polled")
    ended = judge_with(Talker(), study, judge, limit=4)
    assert (ended.status, ended.as_asked) == ("paused", True)
    assert Judgment.objects.filter(status="parsed").count() == 4
    ended = judge_with(Talker(), study, judge)
    assert (ended.status, Judgment.objects.filter(status="parsed").count()) == ("done", 6)


@pytest.mark.parametrize("in_flight", [1, 16])
def test_cap_is_never_passed_and_pauses_the_run_with_its_reason(in_flight: int) -> None:
    study, judge = make_study(instances=10), judge_named("polled")
    client = Talker()
    ended = judge_with(client, study, judge, in_flight=in_flight, max_cost=Decimal("0.85"))
    assert ended.status == judge.runs.get().status == "paused"
    assert judge.runs.get().message.text.startswith("the cap of 0.8500 USD is reached: 0.8100 USD spent")
    assert len(client.bodies) == 10  # 10 × 0.081 fit in, and an eleventh does not
    ended = judge_with(client, study, judge, max_cost=Decimal(100))
    assert (ended.status, len(client.bodies)) == ("done", 60)


@pytest.mark.parametrize("in_flight", [1, 4])
def test_cap_counts_answers_of_no_use(in_flight: int) -> None:
    study, judge = make_study(instances=10), judge_named("polled")
    client = Talker(lambda asked: NEW_CELL_VALUES)
    ended = judge_with(client, study, judge, in_flight=in_flight, max_cost=Decimal("0.85"))
    assert ended.status in ("paused", "failed")
    assert len(client.bodies) * CALL == sum(filter(None, Judgment.objects.values_list("cost", flat=True)))
    assert len(client.bodies) <= 10
    assert judge_with(Talker(), study, judge, max_cost=Decimal("0.85")).status == "paused"


@pytest.mark.parametrize("in_flight", [1, 16])
def test_first_answer_of_any_length_is_the_only_one_that_exceeds_the_cap(in_flight: int) -> None:
    client = Talker(lambda asked: {**chat_completion("A"), "usage": {"prompt_tokens": 80, "completion_tokens": 90_000}})
    study, judge = make_study(instances=10), judge_named("polled")
    ended = judge_with(client, study, judge, in_flight=in_flight, max_cost=Decimal("0.85"))
    assert (ended.status, len(client.bodies)) == ("paused", 1)


@pytest.mark.parametrize(
    ("params", "cap", "calls"),
    [
        pytest.param({}, "0.02", 0, id="below the price of a prompt"),
        pytest.param({}, "0.1", 1, id="below what a second call costs"),
        pytest.param({"max_tokens": 70}, "0.5", 0, id="below what the first may cost by its limit"),
        # The next call may cost 0.711, although each cost 0.081: it is not made once 0.789 is passed.
        pytest.param({"max_tokens": 70}, "1.5", 10, id="below what a later one may cost by its limit"),
    ],
)
def test_cap_heeds_what_the_next_call_may_cost(params: dict[str, int], cap: str, calls: int) -> None:
    client, judge = Talker(), judge_named("polled", params=params)
    ended = judge_with(client, make_study(instances=10), judge, in_flight=1, max_cost=Decimal(cap))
    assert (ended.status, len(client.bodies)) == ("paused", calls)


def test_cap_knows_after_a_restart_what_calls_take() -> None:
    study, judge = make_study(), judge_named("polled")
    judge_with(Talker(), study, judge, limit=1)  # three calls, 0.243
    client = Talker()
    ended = judge_with(client, study, judge, max_cost=Decimal("0.25"))
    assert (ended.status, client.bodies) == ("paused", [])


def test_cap_stops_at_an_endpoint_that_does_not_count_tokens() -> None:
    def without_usage(asked: str) -> dict[str, Any]:
        return {**chat_completion("A"), "usage": None}

    judge = judge_named("polled")
    client = Talker(without_usage)
    ended = judge_with(client, make_study(), judge, max_cost=Decimal(1), in_flight=1)
    assert (ended.status, len(client.bodies)) == ("failed", 1)
    assert "can't be capped" in ended.message
    assert Completion.objects.count() == 1


def test_failed_calls_are_counted_by_kind_and_cost_nothing() -> None:
    failures: list[Any] = [TransientFailure("HTTP 500", kind="HTTP 500")] * 2
    ended = judge_with(ScriptedClient([*failures, *["A"] * 3]), make_study(instances=1, k=1), judge_named("polled"))
    assert (ended.progress.errors, ended.progress.calls) == ({"HTTP 500": 2}, 5)
    assert ended.progress.cost == Judgment.objects.get().cost == 3 * CALL


def test_new_cells_are_begun_while_others_go_on_to_their_next_round() -> None:
    run, worker = leases.join(start_run(study=make_study(instances=30, k=1), judge=judge_named("noted")).pk)
    assert worker is not None
    session = RunWorkerSession(RunWork(run, worker, Progress(), StopFlag()), Noted())
    asked = session.step(count=4).first
    answers = [StoredAnswer(request.key, Reply("*fine")) for request in asked[:2]]
    result = session.step(answers, count=4)
    assert [request.kind for request in result.follow_up] == ["verdict"]
    assert len(result.first) >= 3
    assert session.step(count=0).taken == 0


def test_cells_that_wait_for_one_shared_answer_are_not_all_taken_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    most: list[int] = []
    start = JudgmentPool.start

    def counted(self: JudgmentPool, cells: Any) -> Any:
        cases = start(self, cells)
        most.append(self.under_way)
        return cases

    monkeypatch.setattr(JudgmentPool, "start", counted)
    monkeypatch.setattr("judging.calls.session.MAX_OPEN", 20)
    study = make_study(instances=1, k=50)
    Generation.objects.filter(instance__study=study).update(text="The same.")
    client = Talker()
    assert judge_with(client, study, judge_named("noted"), in_flight=8).status == "done"
    assert max(most) <= 20 + 16
    assert client.kinds == ["critique", "verdict"]
