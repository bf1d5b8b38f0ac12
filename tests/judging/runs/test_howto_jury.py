"""The page on juries, walked through: its commands are taken from the page itself."""

import pytest

from judging.outcomes.judgments import verdicts_by_pair
from tests.howto import walk
from tests.judging.builders import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_page_can_be_walked_through(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study("tea")
    assert len(walk("docs/howto/improve_a_judge.md#create-a-jury")) == 9
    said = capsys.readouterr().out
    assert "juries: independent votes that they are worth" in said
    for run in study.judge_runs.filter(judge__method="jury"):
        assert len(verdicts_by_pair(study, run.judge)) == 6
