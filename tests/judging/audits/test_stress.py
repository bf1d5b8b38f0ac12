"""Stress tests: what is asked, that nothing is asked twice, and that each change finds the judge that falls for it."""

import re
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from analysis.bias.perturbations import AUTHORITY, BOLD, INSTRUCTIONS, NAMES, PADDING, PERTURBATIONS
from annotation.core.errors import Interrupted, UnknownName
from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import do_job
from annotation.models import Generation, Pair, Study
from annotation.models.jobs import LEASE
from judging.audits.asking import ask
from judging.audits.stress import AGAIN, CHANGES, IDENTICAL, PLAIN, POSITION, StressTest, estimate_stress, start_stress
from judging.core.errors import BadSettings, CapReached, StatusChanged
from judging.jobs import leases
from judging.models import AuditAnswer, Completion, Judge, JudgeAudit, Judgment
from tests.factories import add_instances, make_batch
from tests.judging.audits.readers import Bias, Reader, client_of, study_of_facts
from tests.judging.builders import judge_with, make_endpoint, make_judge

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PRICES = {"price_prompt": Decimal(1000), "price_completion": Decimal(10_000)}


@pytest.fixture
def study() -> Study:
    return study_of_facts()


@pytest.fixture
def judge() -> Judge:
    return make_judge(params={"ties": True})


def asked(test: StressTest, reader: Reader, *, stop: StopFlag | None = None, **bounds: Any) -> JudgeAudit:
    audit = start_stress(test, **bounds)
    ask(audit, make_client=client_of(reader), stop=stop)
    return audit


def towards_changed(audit: JudgeAudit, change: str) -> Counter[str]:
    """Count what became of the verdicts of a change, as seen from the changed text."""
    plain = dict(audit.answers.filter(change=PLAIN).values_list("pair_id", "verdict"))
    found: Counter[str] = Counter()
    for answer in audit.answers.filter(change=change):
        sign = -1 if answer.side == "a" else 1
        before, after = sign * plain[answer.pair_id], sign * answer.verdict
        found["kept" if before == after else {1: "towards", 0: "tie", -1: "away"}[after]] += 1
    return found


def has_any(sentences: tuple[str, ...]) -> Bias:
    return lambda text: any(one in text for one in sentences)


def facts_of(text: str) -> list[str]:
    return re.findall(r"thing\d", text)


BIASES: dict[str, Bias] = {
    "padding": has_any(PADDING),
    "list": lambda text: text.startswith("- "),
    "bold": lambda text: BOLD in text,
    "repetition": lambda text: len(set(facts_of(text))) < len(facts_of(text)),
    "authority": has_any(AUTHORITY),
    "instruction": has_any(INSTRUCTIONS),
    "model-name": has_any(NAMES),
    "empty": lambda text: not text,
    "truncated": lambda text: 0 < len(text) < 60,
    "sentence-order": lambda text: facts_of(text) != sorted(facts_of(text)),
}


@pytest.mark.parametrize("change", PERTURBATIONS)
def test_each_change_finds_the_judge_that_falls_for_it_and_only_that(change: str, study: Study, judge: Judge) -> None:
    audit = asked(StressTest(study, judge, (change,)), Reader(BIASES[change]))
    assert {(one.side, one.verdict) for one in audit.answers.filter(change=change)} == {("a", -1), ("b", 1)}
    assert towards_changed(audit, change)["towards"] >= 3  # the others were preferred before
    Completion.objects.all().delete()
    fair = towards_changed(asked(StressTest(study, judge, (change,), seed=1), Reader()), change)
    assert fair["towards"] == 0
    if change in ("empty", "truncated"):  # as it should be
        assert fair["away"] >= 4
    else:
        assert fair["away"] == fair["tie"] == 0


def test_position_chance_and_identical_texts(study: Study, judge: Judge) -> None:
    changes = (POSITION, AGAIN, IDENTICAL)
    fair = asked(StressTest(study, judge, changes), Reader())
    assert [towards_changed(fair, change) for change in (POSITION, AGAIN)] == [{"kept": 16}, {"kept": 16}]
    assert set(fair.answers.filter(change=IDENTICAL).values_list("verdict", flat=True)) == {0}
    Completion.objects.all().delete()
    first = asked(StressTest(study, judge, changes, seed=1), Reader(first=True))
    assert towards_changed(first, POSITION) == {"towards": 16}
    assert towards_changed(first, AGAIN) == {"kept": 16}
    assert {(one.order, one.verdict) for one in first.answers.filter(change=IDENTICAL)} == {("ab", -1)}
    Completion.objects.all().delete()
    restless = asked(StressTest(study, judge, changes, seed=2), Reader(by_seed=True))
    turned = towards_changed(restless, AGAIN)
    assert turned["towards"] > 0 < turned["away"]
    assert turned["kept"] > 0 == turned["tie"]


def test_answers_are_planned_for_each_pair_and_change_that_can_be_made(study: Study, judge: Judge) -> None:
    Generation.objects.filter(pk=Pair.objects.earliest("pk").generation_a_id).update(text=" ")
    audit = start_stress(StressTest(study, judge))
    counts = Counter(audit.answers.values_list("change", flat=True))
    assert set(counts) == {PLAIN, *CHANGES}
    assert counts[PLAIN] == counts[POSITION] == counts[AGAIN] == counts[IDENTICAL] == 16
    assert min(counts.values()) >= 15
    assert start_stress(StressTest(study, judge)).pk == audit.pk
    assert AuditAnswer.objects.count() == sum(counts.values())
    sides = Counter(audit.answers.filter(change="padding").values_list("side", flat=True))
    assert min(sides.values()) >= 3
    texts = set(Generation.objects.values_list("text", flat=True))
    made = audit.answers.exclude(change__in=[PLAIN, POSITION, AGAIN, IDENTICAL])
    assert not texts & set(made.values_list("text", flat=True))
    assert set(audit.answers.filter(change=IDENTICAL).values_list("text", flat=True)) <= texts
    add_instances(study, instances=1, prefix="late")
    start_stress(StressTest(study, judge))
    assert audit.answers.filter(change=PLAIN).count() == 18


def test_more_pairs_include_the_fewer_and_another_seed_draws_others(study: Study, judge: Judge) -> None:
    def drawn(pairs: int, seed: int) -> set[int]:
        audit = start_stress(StressTest(study, judge, ("bold",), pairs=pairs, seed=seed))
        return set(audit.answers.values_list("pair_id", flat=True))

    assert len(drawn(5, 0)) == 5
    assert drawn(5, 0) < drawn(9, 0)
    assert drawn(5, 1) != drawn(5, 0)


def test_pairs_on_hits_only_as_in_runs_and_of_a_data_set(study: Study, judge: Judge) -> None:
    make_batch(study, pairs=1)
    assert start_stress(StressTest(study, judge, ("bold",))).answers.filter(change=PLAIN).count() == 8
    with pytest.raises(UnknownName, match="no data set poems"):
        start_stress(StressTest(study, judge, dataset="poems"))


def test_a_run_of_the_judge_and_its_test_share_answers_and_judgments_stay_apart(study: Study, judge: Judge) -> None:
    reader = Reader()
    judge_with(reader, study, judge)
    assert len(reader.bodies) == 16
    before = list(Judgment.objects.values())
    test = StressTest(study, judge, ("bold", AGAIN))
    assert (estimate_stress(test).calls, estimate_stress(test).cached) == (32, 16)
    audit = asked(test, reader)
    assert (audit.calls, audit.cached, len(reader.bodies)) == (32, 16, 48)
    assert audit.ended_at is not None
    assert {one.status for one in audit.answers.all()} == {"parsed"}
    assert audit.answers.exclude(prompt_version="").exclude(parser_version="").count() == 48
    assert list(Judgment.objects.values()) == before
    assert (estimate_stress(test).pending, estimate_stress(test).calls) == (0, 0)
    assert asked(test, reader).calls == 32
    assert len(reader.bodies) == 48


def test_a_test_that_was_stopped_resumes_without_repeating_a_call(study: Study) -> None:
    judge = make_judge(params={"ties": True}, endpoint=make_endpoint(**PRICES))
    test, stop = StressTest(study, judge, ("bold",)), StopFlag()

    class Stopping(Reader):
        async def complete(self, body: Any) -> Any:
            if len(self.bodies) == 6:
                stop.set()
            return await super().complete(body)

    with pytest.raises(Interrupted):
        asked(test, Stopping(), in_flight=1, stop=stop)
    audit = JudgeAudit.objects.get()
    assert (audit.calls, audit.ended_at, audit.heartbeat_at) == (7, None, None)
    assert audit.message.code == "interrupted"
    expected = estimate_stress(test)
    assert (expected.pending, expected.calls, expected.spent) == (25, 25, audit.cost)
    with pytest.raises(CapReached):
        asked(test, Reader(), max_cost=audit.cost + Decimal("0.2"))
    reader = Reader()
    audit = asked(test, reader)
    assert audit.calls == Completion.objects.count() == 32
    assert audit.cost == sum(Completion.objects.values_list("cost", flat=True))
    assert (audit.message.code, audit.prompt_tokens) == ("", 32 * 11)


def test_a_process_that_was_taken_for_dead_asks_and_bills_no_more(
    study: Study, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0)
    theirs = timezone.now()

    class Suspended(Reader):
        """While its first call is under way, another process takes the audit."""

        async def complete(self, body: Any) -> Any:
            if not self.bodies:
                await sync_to_async(JudgeAudit.objects.update)(heartbeat_at=theirs, executor="elsewhere:1:x")
            return await super().complete(body)

    reader = Suspended()
    with pytest.raises(StatusChanged, match="another process has taken over"):
        asked(StressTest(study, judge, ("bold",)), reader, in_flight=1)

    audit = JudgeAudit.objects.get()
    assert (audit.heartbeat_at, audit.executor, audit.calls, audit.message.code) == (theirs, "elsewhere:1:x", 0, "")
    assert len(reader.bodies) <= 2 < audit.answers.count()
    JudgeAudit.objects.update(heartbeat_at=theirs - 2 * LEASE)
    resumed = asked(StressTest(study, judge, ("bold",)), Reader())
    assert resumed.calls == Completion.objects.count() == 32  # theirs counts what was stored and not billed


def test_an_answer_that_another_process_has_stored_meanwhile_stays(study: Study, judge: Judge) -> None:
    class Suspended(Reader):
        """While its first call is under way, its audit is taken over, and all answers are stored."""

        async def complete(self, body: Any) -> Any:
            answer = await super().complete(body)
            if len(self.bodies) == 1:
                await sync_to_async(AuditAnswer.objects.update)(status="refused", failure="theirs")
            return answer

    audit = asked(StressTest(study, judge, ("bold",)), Suspended(), in_flight=1)
    stored = ("refused", None, reason("text", text="theirs"))
    assert list(audit.answers.order_by().values_list("status", "verdict", "failure").distinct()) == [stored]
    assert audit.calls > 0


def test_unread_answers_are_stored_as_such(study: Study, judge: Judge) -> None:
    audit = asked(StressTest(study, judge, ("bold",)), Reader(unread=BIASES["bold"]))
    assert Counter(audit.answers.values_list("change", "status")) == {("plain", "parsed"): 16, ("bold", "unparsed"): 16}
    assert audit.answers.filter(change="bold", failure="").count() == 0
    audit.refresh_from_db()
    assert (audit.done, audit.total) == (32, 32)


@pytest.mark.parametrize(
    ("judge_settings", "test_settings", "message"),
    [
        pytest.param({"method": "longer"}, {}, "can't be tested: method longer calls no model", id="baseline"),
        pytest.param({"method": "jury"}, {}, "can't be tested: method jury calls no model", id="jury"),
        pytest.param({"method": "sc2", "table_variant": "c8"}, {}, "it uses stored tables", id="stored tables"),
        pytest.param({}, {"question": 3}, "asks 1 questions", id="question"),
        pytest.param({}, {"study": "empty"}, "has no pairs to ask judge judy about", id="empty study"),
    ],
)
def test_what_can_not_be_tested_is_refused(
    judge_settings: dict[str, Any], test_settings: dict[str, Any], message: str, study: Study
) -> None:
    judge = make_judge(**{"endpoint": make_endpoint(), **judge_settings})
    if "study" in test_settings:
        test_settings = {"study": study_of_facts(0, slug="empty")}
    for refused in (start_stress, estimate_stress):
        with pytest.raises(BadSettings, match=message):
            refused(StressTest(**{"study": study, "judge": judge, **test_settings}))
    assert not JudgeAudit.objects.exists()


def test_a_cap_without_prices_is_refused_and_stops_a_worker(study: Study, judge: Judge) -> None:
    test = StressTest(study, judge, ("bold",), pairs=3)
    audit = start_stress(test)
    with pytest.raises(BadSettings, match="prices of endpoint stand-in are unknown"):
        start_stress(test, max_cost=Decimal(1))
    JudgeAudit.objects.update(status="queued", max_cost=1)
    assert do_job.func("judging.JudgeAudit", audit.pk) == "stopped"
    audit.refresh_from_db()
    assert "unknown" in audit.message.text
