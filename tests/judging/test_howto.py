"""The page on adding a judge, walked through: its example is taken from the page itself."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.types import Verdict
from judging.judges import PromptedMethod, base, find_method, prompts
from judging.judges.answers import VerdictForm
from judging.models import Judgment
from tests.fakes import ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "howto" / "add_a_judge.md"


@pytest.fixture
def _registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Run the page's example, with a prompt made from one that is there."""
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.setattr(base, "_METHODS", dict(base._METHODS))
    names = {
        "VerdictForm": VerdictForm,
        "register": base.register,
        "PromptedMethod": PromptedMethod,
        "Verdict": Verdict,
    }
    exec(compile(example, str(PAGE), "exec"), {**names, "__name__": "example"})  # the page is ours
    free = (prompts.FOLDER / "direct.free.v1.txt").read_text(encoding="utf-8")
    (tmp_path / "with-tie.free.v1.txt").write_text(free, encoding="utf-8")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    yield
    prompts.load_prompt.cache_clear()


@pytest.mark.django_db
@pytest.mark.usefixtures("_registered")
def test_example_of_the_page_is_a_method_that_works() -> None:
    judge = make_judge("with-tie", endpoint=make_endpoint())
    client = ScriptedClient(["Reasons: none.\nVerdict: C", "Verdict: B"])
    judge_with(client, make_study(instances=1, k=2, task_kind="free"), judge, in_flight=1)
    assert list(Judgment.objects.order_by("pk").values_list("verdict", "rationale")) == [(0, "none."), (1, "")]
    assert find_method("with-tie").prompt_version("free") == "with-tie.free.v1"
