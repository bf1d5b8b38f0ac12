"""`manage.py findings` as programs and people read it."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.core.version import VERSION
from reporting.findings.text import MOST
from tests.reporting.builders import build_configuration, build_study, judge, rate, separate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def slug(db: None) -> str:
    """A study with people, a judge and separability."""
    built = build_configuration(build_study("shown"), instances=2, pairs=2, systems=("left\x1b[31m", "right"))
    separate(built, [(0.5, 0.6, 0.1), (0.5, 0.5, 0.4)], [0.9, 0.1])
    rate(built, 0, "ann", [-1, 1])
    judge(built, "direct", [(0, 0, "ab", -1)])
    return "shown"


def test_json_is_all_that_is_printed(slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("findings", slug, "--format", "json", "--seed", "7", "--batch", "news-batch", "--with-incomplete")
    found = json.loads(capsys.readouterr().out)
    older = ["study", "version", "filters", "configurations", "pooled", "rankings", "amendments"]
    assert [key for key in found if key in older] == older
    assert {"win_matrices", "system_tests"} < set(found)
    assert (found["study"], found["version"]) == ("shown", VERSION)
    assert found["filters"]["seed"] == 7
    assert found["filters"]["batches"] == ["news-batch"]
    assert found["filters"]["with_incomplete"] is True


def test_epsilon_is_a_number_from_0_to_1(slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("findings", slug, "--format", "json", "--epsilon", "0.2")
    assert json.loads(capsys.readouterr().out)["replacement"][0]["epsilon"] == 0.2
    call_command("findings", slug)
    assert "\ndirect: Unknown" in capsys.readouterr().out
    for wrong in ("much", "-0.1", "1.5", "nan"):
        with pytest.raises(CommandError, match="epsilon is a number from 0 to 1"):
            call_command("findings", slug, f"--epsilon={wrong}")


def test_text_begins_with_the_answer_and_holds_no_control_characters(
    slug: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("findings", slug)
    text = capsys.readouterr().out
    assert text.index("\n- ") < text.index("\nnews: left�[31m (A) and right (B)")
    assert "\x1b" not in text


@pytest.mark.parametrize("wrong", [["--batch", "nope"], ["--seed", "-1"]])
def test_wrong_options_are_refused(slug: str, wrong: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("findings", slug, *wrong)


def test_a_terminal_gets_the_first_configurations_and_their_number(
    slug: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(MOST, "configurations", 0)
    call_command("findings", slug)
    printed = capsys.readouterr().out
    assert "... 1 more configurations" in printed
    assert "separability: " not in printed
