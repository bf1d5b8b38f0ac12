"""The page on judging the judges, walked through: its commands and its file are taken from the page itself."""

import json
from pathlib import Path

import pytest

from annotation.models import Study
from reporting.accuracy.accuracies import judge_accuracy
from tests.factories import json_lines
from tests.howto import blocks, walk

PAGE = "docs/howto/judge_the_judges.md#count-them-against-gold-labels"

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_page_can_be_walked_through(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    outputs = [
        {"input": f"Question {n}", "output_1": "Yes, it is.", "output_2": "No.", "label": 1 + n % 2} for n in range(4)
    ]
    for name in ("Natural.json", "Adversarial_Manual.json"):
        (tmp_path / name).write_text(json.dumps(outputs))
    (tmp_path / "helpful.jsonl").write_bytes(
        json_lines([{"prompt": f"Please {n}", "chosen": "Gladly, here it is.", "rejected": "No."} for n in range(4)])
    )
    (table,) = blocks(PAGE, "csv")
    (tmp_path / "verdicts.csv").write_text(table)

    assert len(walk(PAGE)) == 8
    assert r"\begin{table}" in capsys.readouterr().out

    found = judge_accuracy(Study.objects.get(slug="bar"))
    of = {judge["judge"]: {row["subset"]: row for row in judge["subsets"]} for judge in found["judges"]}
    assert {name: row["pairs"] for name, row in of["longest"].items()} == {
        "Adversarial_Manual": 4, "Natural": 4, "helpful": 4, "adversarial": 4, "natural": 8, "all": 12,
    }  # fmt: skip
    assert of["longest"]["helpful"]["accuracy"]["value"] == 1.0  # there the longer text is the chosen one
    assert of["longest"]["Natural"]["accuracy"]["value"] == 0.5
    mine = of["my-judge"]["Natural"]
    assert (mine["asked"], mine["a"], mine["b"], mine["unparsed"]) == (3, 1, 1, 1)
