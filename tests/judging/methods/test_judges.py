"""Setting judges up: what fits together, and what is stored of it."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.names import BASELINES
from judging.core.errors import BadSettings
from judging.methods import Baseline, find_method, method_names
from judging.models import Judge, PromptFile
from judging.runs.judges import add_judge, gives_probabilities
from tests.judging.builders import make_endpoint

pytestmark = pytest.mark.django_db
OWN = "Which is better?\n[$fence begin]\n$source $first $second\nVerdict: <$letters>"


def add(method: str = "direct", **settings: Any) -> Judge:
    """Add a judge that asks an endpoint, and return it as the database has it."""
    add_judge(**{"name": "judy", "method": method, "endpoint": make_endpoint(), **settings})
    return Judge.objects.get()


@pytest.mark.parametrize(
    ("repeats", "given", "stored"),
    [
        pytest.param(1, {}, {}, id="the method's own"),
        pytest.param(10, {}, {"temperature": 0.7}, id="one that repeats need"),
        pytest.param(10, {"temperature": 0}, {"temperature": 0}, id="none, as given"),
        pytest.param(10, {"temperature": None}, {"temperature": None}, id="left out, as given"),
    ],
)
def test_repeats_get_a_temperature_that_can_be_seen(
    repeats: int, given: dict[str, Any], stored: dict[str, Any]
) -> None:
    assert add(repeats=repeats, params=given).params == stored


def test_the_same_judge_again_is_the_same() -> None:
    endpoint = make_endpoint()
    settings: dict[str, Any] = {"name": "judy", "method": "direct", "endpoint": endpoint, "repeats": 3, "negated": True}
    assert [add_judge(**settings)[1], add_judge(**settings)[1]] == [True, False]
    with pytest.raises(BadSettings, match="repeats is 3, not 4"):
        add_judge(**{**settings, "repeats": 4})
    with pytest.raises(BadSettings, match="negated is True, not False"):
        add_judge(**{**settings, "negated": False})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({"params": {"ties": "perhaps"}}, "ties is true or false", id="option"),
        pytest.param({"combine": "probability"}, "choose order both", id="one order"),
        pytest.param(
            {"combine": "probability", "order": "both", "method": "cot"}, "gives no probability", id="no probability"
        ),
        pytest.param({"params": {"n": 3}}, "set by the engine: n", id="reserved"),
        pytest.param({"method": "coin"}, "takes no endpoint", id="baseline"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        add(**settings)
    assert not Judge.objects.exists()


def test_probabilities_are_combined_where_the_method_asks_for_them() -> None:
    able = [name for name in method_names() if "logprobs" in find_method(name).options]
    assert able
    judge = add(able[0], order="both", combine="probability", params={"logprobs": True})
    assert judge.combine == "probability"
    assert gives_probabilities(find_method("token-preference"), {})
    assert not gives_probabilities(find_method("pointwise"), {})


def test_own_wording_is_checked_for_the_negated_question() -> None:
    wording = PromptFile.objects.create(name="mine", version=2, text=OWN, parser="verdict-line")
    with pytest.raises(BadSettings, match=r"mine\.v2 has no \$criterion"):
        add(prompt_file=wording, negated=True)
    with pytest.raises(BadSettings, match="takes no prompt file"):
        add_judge(name="other", method="coin", prompt_file=wording)


def test_command_takes_everything(capsys: pytest.CaptureFixture[str]) -> None:
    make_endpoint()
    for version in (1, 2):
        text = f"{OWN} $criterion {version}"
        PromptFile.objects.create(name="mine", version=version, text=text, parser="verdict-line")
    call_command(
        *("add_judge", "judy", "--method", "direct", "--endpoint", "stand-in", "--order", "both", "--task", "chat"),
        *("--family", "owls", "--repeats", "3", "--negated", "--prompt", "mine:1", "--param", "ties=true"),
        *("--param", "top_k=4", "--seed", "9"),
    )
    judge = Judge.objects.get()
    assert (judge.order, judge.task, judge.family, judge.repeats) == ("both", "chat", "owls", 3)
    assert (judge.negated, judge.seed, str(judge.prompt_file)) == (True, 9, "mine.v1")
    assert judge.params == {"ties": True, "top_k": 4, "temperature": 0.7}
    assert capsys.readouterr().out == (
        "judge judy added: direct, order both, task chat, prompt mine.v1, 3 repeats, negated as well, ties=true, "
        "top_k=4, temperature=0.7, seed 9\n"
    )
    call_command("add_judge", "jack", "--method", "direct", "--endpoint", "stand-in", "--prompt", "mine")
    assert str(Judge.objects.get(name="jack").prompt_file) == "mine.v2"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        pytest.param(["--prompt", "mine:7"], "no prompt file mine:7", id="prompt"),
        pytest.param(["--param", "temperature"], "key=value", id="parameter"),
    ],
)
def test_command_refuses(arguments: list[str], reason: str) -> None:
    make_endpoint()
    with pytest.raises(CommandError, match=reason):
        call_command("add_judge", "judy", "--method", "direct", "--endpoint", "stand-in", *arguments)


def test_the_list_of_baselines_names_those_methods() -> None:
    assert {name for name in method_names() if isinstance(find_method(name), Baseline)} == BASELINES
