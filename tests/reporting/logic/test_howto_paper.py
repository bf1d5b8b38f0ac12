"""The page that rebuilds a paper's set-up on a file of SummEval's form, walked through with a stand-in for the endpoint."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Instance
from judging.models import Judgment
from tests.howto import text_of
from tests.hub_folders import load_folder
from tests.judging.builders import make_endpoint
from tests.standin.process import running

ROOT = Path(__file__).resolve().parents[3]
PAGE = text_of("docs/howto/audit_a_judge.md#rebuild-the-set-up-of-aligning-with-logic")
SCRIPT = ROOT / "examples" / "summeval_to_study.py"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_engine, pytest.mark.slow]


def summary(article: str, model: int, **more: Any) -> dict[str, Any]:
    scores = [{"coherence": model + expert, "fluency": 5 - model} for expert in (0, 1)]
    text = f"{article} was written in{' ever' * model} more words."
    return {
        "id": article,
        "model_id": f"M{model}",
        "decoded": text,
        "text": f"Of {article}.",
        "expert_annotations": scores,
        **more,
    }


def converted(folder: Path, rows: list[dict[str, Any]], *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "summaries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(folder / "summaries.jsonl"), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_file_becomes_instances_with_the_experts_means_as_gold(tmp_path: Path) -> None:
    made = converted(tmp_path, [summary("a1", 0), summary("a1", 2), summary("a2", 1)], "--aspect", "coherence")
    first, second = map(json.loads, made.stdout.splitlines())
    assert first["gold"] == {"scores": {"M0": 0.5, "M2": 2.5}}
    assert (first["dataset"], first["source"], list(first["generations"])) == (
        "summeval-coherence",
        "Of a1.",
        ["M0", "M2"],
    )
    assert second["instance_id"] == "a2"
    refused = converted(tmp_path, [summary("a1", 0), {"id": "a1"}])
    assert refused.returncode == 1
    assert "line 2 has no 'model_id'" in refused.stderr


@pytest.mark.weekly
def test_the_page_can_be_walked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    monkeypatch.chdir(tmp_path)
    rows = [summary(article, model) for article in ("a1", "a2", "a3") for model in range(4)]
    Path("coherence.jsonl").write_text(converted(tmp_path, rows).stdout, encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.strip().splitlines()]
    with running() as standin:
        standin.behave(answer="longer")
        make_endpoint(standin.base_url, name="small")
        for line in lines:
            program, *arguments = shlex.split(line)
            assert program == "./manage.py"
            call_command(*arguments)
    said = capsys.readouterr().out

    assert Instance.objects.get(instance_id="a1").gold == {"scores": {f"M{n}": n + 0.5 for n in range(4)}}
    # Two articles with six pairs, both orders, plain and negated, twice, of two judges.
    assert Judgment.objects.filter(status="parsed").count() == 2 * 6 * 2 * 2 * 2 * 2
    assert "judge:thinks-audit2,summeval-coherence,transitivity_3," in said
    card = (tmp_path / "repaired" / "README.md").read_text(encoding="utf-8")
    assert "REPAIR" in card
    assert list(load_folder(tmp_path / "repaired")) == ["train"]  # a fifth of two instances is none
    assert "<svg" in Path("pairs.svg").read_text(encoding="utf-8")
    assert "  method: pairs-beam\n" in said
