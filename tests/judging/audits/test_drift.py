"""Checks of drift: the same pairs are asked past the cache, and a change beyond chance is found."""

from zlib import crc32

import pytest

from annotation.models import Study
from judging.audits.asking import ask
from judging.audits.drift import NO_PAIR, TOO_FEW, checks_of, conclude, pinned, settings_of, start_check
from judging.audits.estimates import estimate_check
from judging.audits.stress import StressTest
from judging.models import Completion, Judge, JudgeAudit
from tests.judging.audits.readers import Reader, client_of, study_of_facts
from tests.judging.builders import judge_with, make_judge

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


@pytest.fixture
def study() -> Study:
    return study_of_facts()


@pytest.fixture
def judge() -> Judge:
    return make_judge(params={"ties": True})


def check(study: Study, judge: Judge, reader: Reader, *, pairs: int | None = None) -> JudgeAudit:
    audit = start_check(StressTest(study, judge, pairs=pairs))
    ask(audit, make_client=client_of(reader))
    conclude(audit)
    return audit


@pytest.mark.slow
def test_each_check_asks_anew_what_a_run_sends_under_samples_of_its_own(study: Study, judge: Judge) -> None:
    reader = Reader()
    judge_with(reader, study, judge)
    of_run = sorted(map(str, reader.bodies))
    assert (estimate_check(StressTest(study, judge)).calls, estimate_check(StressTest(study, judge)).cached) == (32, 0)
    first = check(study, judge, reader)
    assert (first.calls, first.cached, len(reader.bodies)) == (32, 0, 48)
    assert sorted(map(str, reader.bodies[16:])) == sorted(of_run * 2)
    assert estimate_check(StressTest(study, judge)).calls == 16
    second = check(study, judge, reader)
    assert (second.wave, second.calls, len(reader.bodies)) == (1, 16, 64)
    assert sorted(map(str, reader.bodies[48:])) == of_run
    samples = Completion.objects.values_list("sample", flat=True)
    assert len(set(samples)) == 1 + 2 + 1
    assert pinned(checks_of(study)) == [second]
    assert settings_of(second) == StressTest(study, judge, ("again",))


@pytest.mark.slow
@pytest.mark.any_engine
def test_the_same_judge_has_not_drifted_and_another_behind_its_address_has(study: Study, judge: Judge) -> None:
    first = check(study, judge, Reader())
    assert first.found is None
    same = check(study, judge, Reader())
    assert same.found is not None
    assert same.found["changed"] == same.found["changed"] | {"value": 0, "n": 16, "n_instances": 8, "excluded": 0}
    assert same.found["changed"]["low"] == 0 < same.found["changed"]["high"]
    assert same.found["drifted"] is False

    class Contrary(Reader):
        def score(self, text: str) -> int:
            return -super().score(text)

    turned = check(study, judge, Contrary())
    assert turned.found is not None
    assert turned.found["changed"]["value"] == turned.found["beyond_chance"]["value"] == 1
    assert turned.found["by_chance"]["value"] == 0
    assert turned.found["beyond_chance"]["low"] > 0
    assert turned.found["drifted"] is True
    assert turned.found["since"] == same.ended_at.isoformat()


@pytest.mark.slow
@pytest.mark.any_engine
def test_a_judge_that_answers_by_chance_has_not_drifted(study: Study, judge: Judge) -> None:
    class Restless(Reader):
        def score(self, text: str) -> int:
            return crc32(f"{text} {len(self.bodies)}".encode()) % 1000

    reader = Restless()
    check(study, judge, reader)
    found = check(study, judge, reader).found
    assert found is not None
    assert found["changed"]["value"] > 0 < found["by_chance"]["value"]
    assert found["beyond_chance"]["low"] < 0
    assert found["drifted"] is False


@pytest.mark.slow
@pytest.mark.any_engine
def test_few_instances_or_no_verdicts_leave_it_open(judge: Judge) -> None:
    few = study_of_facts(2)
    check(few, judge, Reader())
    found = check(few, judge, Reader(first=True)).found
    assert found is not None
    assert (found["drifted"], found["changed"]["low"], found["changed"]["why"]) == (None, None, TOO_FEW)
    unread = check(few, judge, Reader(unread=bool)).found
    assert unread is not None
    assert (unread["changed"]["value"], unread["changed"]["why"], unread["changed"]["excluded"]) == (None, NO_PAIR, 4)


@pytest.mark.slow
@pytest.mark.any_engine
def test_a_check_that_is_not_done_is_continued(study: Study, judge: Judge) -> None:
    begun = start_check(StressTest(study, judge, pairs=4))
    assert start_check(StressTest(study, judge, pairs=4)).pk == begun.pk
    assert check(study, judge, Reader(), pairs=4).pk == begun.pk
    further = start_check(StressTest(study, judge, pairs=4))
    ask(further, make_client=client_of(Reader()))  # and killed before the end
    check(study, judge, Reader(), pairs=4)
    further.refresh_from_db()
    assert further.found is not None
    assert (further.wave, further.answers.count(), begun.answers.count()) == (1, 4, 8)
    assert not further.answers.exclude(text="").exists()
