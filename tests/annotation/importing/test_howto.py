"""The page on two-stage studies, walked through: its commands and its file are taken from the page itself."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.annotators.consent import answer_consent
from annotation.members.accounts import annotator_for
from annotation.models import Annotator, Assignment, Study
from annotation.quality.qualification import begin_attempt
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.votes import lock_first_votes, submit_assignment
from tests.factories import claim, make_user, rate
from tests.howto import text_of

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGE = text_of("docs/howto/comparison_tables.md#run-a-two-stage-study")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.strip().splitlines()]

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def walk(commands: list[str]) -> None:
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "./manage.py"
        call_command(*arguments)


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder with the examples and the page's own file."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    [own] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "first.jsonl").write_text(own, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def rate_qualification(annotator: Annotator) -> None:
    """Fail the first attempt, and answer the other pair as the page's gold says."""
    for right in (False, True):
        if right:
            begin_attempt(annotator=annotator, at=timezone.now())
        assignment = claim(annotator, timezone.now())
        assert assignment.purpose == "qualification"
        display = assignment.displays.get()
        a_is_better = assignment.hit.matchup.instance.gold["better"] == "heron-2"
        rate(assignment, "left" if display.a_is_left == (a_is_better == right) else "right", at=timezone.now())


def rate_both_stages(annotator: Annotator) -> Assignment:
    """Rate a HIT: revise the first pair, keep the others."""
    now = timezone.now()
    assignment = rate(claim(annotator, now), "left", at=now, submit=False)
    assignment = lock_first_votes(assignment=assignment, at=now)
    for place in range(5):
        display = reveal(assignment=assignment, at=now)
        assert display is not None
        choice, reason = ("right", "The table names what I missed.") if place == 0 else ("left", "")
        save_second_vote(assignment=assignment, pair_key=display.pair.key, choice=choice, reason=reason, at=now)
    return submit_assignment(assignment=assignment, at=now)


@pytest.mark.usefixtures("_folder")
def test_the_pages_commands_make_a_study_that_raters_can_walk_through(capsys: pytest.CaptureFixture[str]) -> None:
    walk(COMMANDS[:-1])
    said = capsys.readouterr().out
    assert "protocol: one-stage → two-stage" in said
    assert "batch first: 2 HITs of 1 pair for every rater (Qualification" in said
    assert "batch main: 12 HITs of 5 pairs for 3 raters each = 180 ratings" in said
    assert "/login/link/" in said

    study = Study.objects.get(slug="talks")
    arms = []
    for name in ("one", "two", "three"):
        annotator = annotator_for(user=make_user(name, "annotator", study=study), study=study)
        answer_consent(annotator=annotator, accepted=True, at=timezone.now())
        rate_qualification(annotator)
        arms.append(rate_both_stages(annotator).arm)
    assert sorted(arms) == ["none", "placebo:hand", "table:hand"]

    walk(COMMANDS[-1:])
    exported = Path("talks-export/ratings.csv").read_text(encoding="utf-8")
    assert exported.count(",revised,") == 15
    assert exported.count("The table names what I missed.") == 3
    assert {path.name for path in Path("talks-export").iterdir()} == {
        *("ratings.csv", "judgments.csv", "history.csv", "flags.csv", "texts.csv", "tables.csv", "separability.csv"),
        *("raters.csv", "settings.csv", "datasets.csv"),
    }


@pytest.mark.usefixtures("_folder")
def test_the_demos_own_study_becomes_two_stage_before_the_first_vote() -> None:
    call_command("demo", "--no-serve")
    settings = next(command for command in COMMANDS if "protocol=two-stage" in command).replace("talks", "example")

    walk([settings])

    assert Study.objects.get(slug="example").arms == ["none", "table:hand", "placebo:hand"]
