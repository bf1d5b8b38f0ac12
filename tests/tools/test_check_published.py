"""The whole path from published files to findings, on files of the same shape with numbers worked out apart from the project."""

import csv
import json
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest

from reporting.findings.data.asked import filters_of
from reporting.management.commands import findings
from tools import check_published
from tools.check_published import (
    ALPACA_EVAL_JUDGE,
    JUDGES,
    LEADERBOARD,
    LEVELS,
    alpaca_eval,
    differences,
    golden_llmfao,
    llmfao,
)

pytestmark = [pytest.mark.django_db, pytest.mark.any_engine, pytest.mark.slow]
PLACE = {"left": -1, "tie": 0, "right": 1}
Votes = dict[int, dict[str, str]]  # by pair and worker


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """Forty pairs of seven systems on five prompts, in any order of sides; one to five of nine workers, and two judges."""
    rng = np.random.default_rng(7)
    every = [(prompt, one, other) for prompt in range(5) for one, other in combinations(range(7), 2)]
    chosen = [every[place] for place in rng.permutation(len(every))[:40]]
    pairs = [(prompt, *rng.permutation([one, other]).tolist()) for prompt, one, other in chosen]
    votes: Votes = {}
    rows, texts = [], []
    for number, (prompt, left, right) in enumerate(pairs):
        shown = {"id": number, "prompt": prompt, "left": f"system-{left}", "right": f"system-{right}"}
        workers = rng.permutation(9)[: 1 + number % 5].tolist()
        votes[number] = {str(worker): str(rng.choice(["left", "left", "tie", "right"])) for worker in workers}
        rows += [{**shown, "worker": worker, "winner": winner} for worker, winner in votes[number].items()]
        made = {"result_x": f"{prompt} by {left}", "result_y": f"{prompt} by {right}"}
        texts.append({"id": number, "text": f"Prompt {prompt}.", **made})
    write(tmp_path / "crowd-comparisons.csv", rows)
    lines = "".join(json.dumps(one) + "\n" for one in texts)
    (tmp_path / "pairs-crowd.jsonl").write_text(lines, encoding="utf-8")
    judged = {}
    for judge in JUDGES:
        judged[judge] = {number: str(rng.choice(["left", "tie", "right", "right"])) for number in range(len(pairs))}
        given = [
            {"id": number, "prompt": prompt, "winner": judged[judge][number]}
            | {"left": f"system-{left}", "right": f"system-{right}"}
            for number, (prompt, left, right) in enumerate(pairs)
        ]
        write(tmp_path / f"{judge}-crowd-comparisons.csv", given)
    (tmp_path / "golden.json").write_text(json.dumps(plainly(pairs, votes, judged)), encoding="utf-8")
    return tmp_path


def plainly(pairs: list[tuple[int, int, int]], votes: Votes, judged: dict[str, dict[int, str]]) -> dict[str, Any]:
    """Work out what the golden file has, without the project."""
    workers = sorted({worker for given in votes.values() for worker in given})
    table = [[PLACE[given[worker]] if worker in given else np.nan for given in votes.values()] for worker in workers]
    alphas = {
        f"krippendorff_alpha_{level}": krippendorff.alpha(np.array(table), level_of_measurement=level)
        for level in LEVELS
    }
    first = {number: most(given) for number, given in votes.items()}
    everyone = [pair for given in votes.values() for pair in combinations(given.values(), 2)]
    found: dict[str, Any] = {
        "n_rows": sum(map(len, votes.values())),
        "n_pairs": len(pairs),
        "n_workers": len(workers),
        "votes_per_pair": {str(n): count for n, count in Counter(map(len, votes.values())).items()},
        "winner_counts": Counter(side for given in votes.values() for side in given.values()),
        "n_prompts": len({pair[0] for pair in pairs}),
        "n_models": len({system for pair in pairs for system in pair[1:]}),
        "same_worker_same_pair_duplicates": 0,
        **alphas,
        "plurality": Counter(first.values()),
    }
    for judge, said in judged.items():
        beside = [(said[number], side) for number, given in votes.items() for side in given.values()]
        decided = {number: side for number, side in first.items() if side != "None"}
        found[judge] = {
            "n": len(said),
            "winner_counts": Counter(said.values()),
            "fastchat_agreement": {
                f"{who}_{ties}_tie": counted(given, ties == "with")
                for who, given in (("gpt_human", beside), ("human_human", everyone))
                for ties in ("with", "without")
            },
            "agree_with_crowd_plurality": {
                "agree": sum(said[number] == side for number, side in decided.items()),
                "total": len(decided),
            },
        }
    return found


def most(given: dict[str, str]) -> str:
    counts = Counter(given.values())
    best = [side for side, count in counts.items() if count == max(counts.values())]
    return best[0] if len(best) == 1 else "None"


def counted(pairs: list[tuple[str, ...]], ties: bool) -> dict[str, float]:
    kept = [one for one in pairs if ties or "tie" not in one]
    agree = sum(len(set(one)) == 1 for one in kept)
    return {"agree": agree, "total": len(kept), "ratio": agree / len(kept)}


def test_crowd_and_judges_come_to_findings_with_all_their_numbers(crowd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No interval is among these numbers.
    monkeypatch.setattr(findings, "filters_of", lambda *asked: replace(filters_of(*asked), rounds=2))
    n, largest, wrong = differences(llmfao(crowd), golden_llmfao(crowd / "golden.json"))
    assert (wrong, n) == ([], 57)
    assert largest < 1e-12


@pytest.mark.parametrize(("rates", "near"), [((40, 30, 20), 0), ((50, 50, 50), 1)])
def test_published_rates_at_equal_lengths_are_compared(
    tmp_path: Path, rates: tuple[int, ...], near: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three models whose texts are as long as the reference's, and which win every second time."""
    (tmp_path / LEADERBOARD).parent.mkdir(parents=True)
    names = ["one", "two", "three"]
    write(tmp_path / LEADERBOARD, [{"": n, "length_controlled_winrate": r} for n, r in zip(names, rates, strict=True)])
    for name in names:
        shared = {"generator_1": "reference", "generator_2": name, "annotator": ALPACA_EVAL_JUDGE}
        answers = [
            {"instruction": f"task {n}", "output_1": f"{n:04}", "output_2": f"{n:03}{name[0]}", "preference": 1 + n % 2}
            for n in range(40)
        ]
        path = tmp_path / "results" / name / ALPACA_EVAL_JUDGE / "annotations.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps([{**shared, **one} for one in answers]), encoding="utf-8")
    assert alpaca_eval(tmp_path) == {"correlated": 0, "near": near}
    assert "3 models" in capsys.readouterr().out


def test_a_number_that_differs_or_is_missing_is_named() -> None:
    golden = {"a": 1.0, "b": [2.0, 3.0], "c": {"d": 4.0}}
    n, largest, wrong = differences({"a": 1.0, "b": [2.0, 3.1], "e": 5.0}, golden)
    assert (n, round(largest, 9)) == (4, 0.1)
    assert [line.split(":")[0] for line in wrong] == ["/c/d", "/e", "/b/1"]
    assert differences({"a": float("nan")}, {"a": 1.0})[2] == ["/a: nan, golden 1.0"]


def test_golden_files_have_the_numbers_that_are_compared() -> None:
    for golden in (check_published.golden_separability(), golden_llmfao()):
        assert len(check_published.leaves(golden)) in (170, 57)
