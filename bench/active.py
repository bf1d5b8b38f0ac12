"""How many votes judges save: hide people's votes of published studies, and buy some back.

    make bench-active LLMFAO=FOLDER SEPARABILITY=FOLDER PANDALM=FOLDER

The files are no part of the project: LLMFAO and SEPARABILITY as for `make check-published`; PANDALM is the folder `data` of
github.com/WeOpenML/PandaLM. Without a folder its studies are left out; simulated ones are always there.

A study draws as many instances as there are, with replacement, so that the mean over the files is the true win rate. Judges
rated all of them. Three ways buy people's votes on n instances: at random, with people's plain mean; the same with a judge
(PPI++); and a pilot at random, then the rest with chances by what the judges are unsure of. Votes needed are the mean
squared standard error as a share of that of the plain mean, so the share of its votes that give the same width.
"""

import csv
import json
import os
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.judges.prediction_powered import PredictionPoweredRate, prediction_powered_win_rate
from analysis.planning.active import active_weights, expected_errors, judges_doubts, judges_shares
from analysis.planning.selection import choose_importance, choose_random
from analysis.similarity.rouge import pairwise_rouge1
from analysis.similarity.separability import alignments
from analysis.types import BoolArray, FloatArray, IntArray

STUDIES = int(os.environ.get("BENCH_STUDIES", "1000"))
PILOT = 30  # instances
MOST, LARGE = 5_000, 100_000  # instances of a study at most, and of a population that is simulated
VALUES = {"left": -1.0, "tie": 0.0, "right": 1.0, "1": -1.0, "0": 0.0, "2": 1.0, "Tie": 0.0}
SIMULATED = (0.4, 0.6, 0.7, 0.8)  # correlations of a simulated judge with people


@dataclass(frozen=True, eq=False)
class Published:
    """People's means on all instances of a study, (n,) in [0, 1], its judges' verdicts, (n, pairs) of -1, 0, 1, NaN, and n to buy."""

    name: str
    people: FloatArray
    judges: Mapping[str, FloatArray]
    bought: int
    p_b: FloatArray | None = None
    closeness: FloatArray | None = None


def llmfao(folder: Path) -> Iterator[Published]:
    """Yield the crowd's comparisons with each judge, and with both."""
    votes: dict[str, list[float]] = defaultdict(list)
    for row in _rows(folder / "crowd-comparisons.csv"):
        votes[row["id"]].append((1 + VALUES[row["winner"]]) / 2)
    judges = {}
    for name in ("gpt3", "gpt4"):
        verdicts = {
            row["id"]: VALUES.get(row["winner"], np.nan) for row in _rows(folder / f"{name}-crowd-comparisons.csv")
        }
        judges[name] = np.array([[verdicts.get(key, np.nan)] for key in votes])
    yield from _by_judge("LLMFAO", np.array([np.mean(given) for given in votes.values()]), judges, 200)


def pandalm(folder: Path) -> Iterator[Published]:
    """Yield the three annotators' labels with each judge, and with both."""
    items, gpt, panda = (
        json.loads((folder / f"{name}testset-v1.json").read_text(encoding="utf-8"))
        for name in ("", "gpt-3.5-turbo-", "pandalm-7b-")
    )
    people = [np.mean([(1 + VALUES[str(item[f"annotator{k}"])]) / 2 for k in (1, 2, 3)]) for item in items]
    answers = {
        "gpt-3.5": {row["idx"]: row["gpt_result"] for row in gpt},
        "pandalm-7b": {row["idx"]: row["pandalm_result"] for row in panda},
    }
    judges = {
        name: np.array([[VALUES.get(str(by_item[item["idx"]]), np.nan)] for item in items])
        for name, by_item in answers.items()
    }
    for bought in (60, 200):
        yield from _by_judge("PandaLM", np.array(people), judges, bought)


def separability(folder: Path) -> Iterator[Published]:
    """Yield both MTurk studies, in study order, with the judge that prefers the longer text: the files have no model's verdicts."""
    for path in sorted(folder.glob("*_pref_data.csv")):
        votes: dict[Any, list[float]] = defaultdict(list)
        texts = {}
        for row in _rows(path):
            sides = [(1, 2) if row[f"Input.id{k}"] == "1" else (2, 1) for k in range(1, 6)]
            key = tuple(tuple(row[f"Input.model{side}_summary{k}"] for side in own) for k, own in enumerate(sides, 1))
            texts[key] = [text for place in (0, 1) for text in (pair[place] for pair in key)]
            prefers = [float(row[f"Answer.pref{k}"]) * (1 if own == (1, 2) else -1) for k, own in enumerate(sides, 1)]
            votes[key] += [(1 + preferred) / 2 for preferred in prefers]
        people = np.array([np.mean(given) for given in votes.values()])
        longer = np.array([[np.sign(len(b) - len(a)) for a, b in key] for key in votes])
        own_a, own_b, cross = alignments(np.stack([pairwise_rouge1(listed, listed) for listed in texts.values()]), 5)
        closeness = cross - np.maximum(own_a, own_b)
        yield from _by_judge(
            f"MTurk {path.name[:7]}", people, {"longer": longer}, 40, (closeness - closeness.min()) / np.ptp(closeness)
        )


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _by_judge(
    name: str, people: FloatArray, judges: dict[str, FloatArray], bought: int, closeness: FloatArray | None = None
) -> Iterator[Published]:
    sets = {judge: {judge: verdicts} for judge, verdicts in judges.items()}
    if len(judges) > 1:
        sets[" + ".join(judges)] = judges
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    sets["a coin"] = {"coin": rng.choice([-1.0, 0.0, 1.0], size=next(iter(judges.values())).shape, p=(0.45, 0.1, 0.45))}
    for judge, verdicts in sets.items():
        yield Published(f"{name}, {len(people)}, {judge}", people, verdicts, bought, closeness=closeness)


def simulated() -> Iterator[Published]:
    """Yield instances with one vote each, and a judge whose probabilities are right, by its correlation; and a coin's."""
    rng = np.random.default_rng(41)
    for correlation in (0.0, *SIMULATED):
        # With this spread of evenly distributed probabilities votes correlate so, unless they are cut.
        p = (
            rng.random(LARGE)
            if not correlation
            else np.clip(0.5 + correlation * np.sqrt(0.75) * rng.uniform(-1, 1, LARGE), 0, 1)
        )
        votes = (rng.random(LARGE) < (p if correlation else 0.5)).astype(np.float64)
        yield Published(f"simulated, {MOST}, ρ {correlation}", votes, {"judge": np.sign(p - 0.5)[:, None]}, 200, p)


def study_features(study: Published, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the judges' doubts about the drawn instances, and their mean share of B."""
    n, verdicts = len(rows), np.stack([judge[rows] for judge in study.judges.values()])
    judge, instance, pair = (axis.ravel() for axis in np.indices(verdicts.shape))
    p_b = np.full(len(judge), np.nan) if study.p_b is None else study.p_b[rows][instance]
    pairs = instance * verdicts.shape[2] + pair
    doubts = judges_doubts(instance, pairs, judge, np.zeros_like(judge), verdicts.ravel(), p_b, n)
    if study.closeness is not None:
        doubts = np.column_stack([doubts, study.closeness[rows]])
    return doubts, judges_shares(instance, verdicts.ravel(), p_b, n)


def buy(
    people: FloatArray, bought: BoolArray, judge: FloatArray, chances: FloatArray | None = None
) -> PredictionPoweredRate:
    """Return the estimate from the votes that were bought."""
    return prediction_powered_win_rate(np.where(bought, people, np.nan), judge, probabilities=chances)


def buy_actively(
    rng: np.random.Generator, people: FloatArray, judge: FloatArray, doubts: FloatArray, n: int
) -> PredictionPoweredRate:
    """Buy a pilot at random, the rest by chances from its votes; the pilot weighs as much as the rest, instance by instance."""
    size = len(people)
    bought = np.isin(np.arange(size), choose_random(size, PILOT, rng))
    errors = expected_errors(doubts, np.where(bought, people, np.nan), judge)
    others = np.flatnonzero(~bought)
    drawn = choose_importance(active_weights(errors.variance[others]), n - PILOT, rng)
    chances = np.full(size, 1 / np.mean(1 / drawn.probabilities))
    chances[others[drawn.indices]] = drawn.probabilities
    bought[others[drawn.indices]] = True
    return buy(people, bought, judge, chances)


def measured(study: Published) -> dict[str, float]:
    """Simulate studies. Return shares of the votes of the plain mean, and coverages."""
    rng = np.random.default_rng(zlib.crc32(study.name.encode()))
    truth, size = float(study.people.mean()), min(len(study.people), MOST)
    errors, covered = np.zeros((STUDIES, 3)), np.zeros((STUDIES, 3))
    for number in range(STUDIES):
        rows = rng.integers(len(study.people), size=size)
        doubts, judge = study_features(study, rows)
        people = study.people[rows]
        bought = np.isin(np.arange(size), choose_random(size, study.bought, rng))
        helped, active = buy(people, bought, judge), buy_actively(rng, people, judge, doubts, study.bought)
        rates: Sequence[Any] = (helped.plain, helped, active)
        for place, rate in enumerate(rates):
            errors[number, place] = rate.standard_error**2
            covered[number, place] = rate.low <= truth <= rate.high
    plain, random, chosen = errors.mean(axis=0)
    return {
        "random": random / plain,
        "active": chosen / plain,
        "coverage_random": covered[:, 1].mean(),
        "coverage": covered[:, 2].mean(),
    }


def bound(study: Published) -> tuple[float, float, float]:
    """Return what theory allows: correlation, share of votes with the best λ, and with the best chances for the judges' answers.

    Chances may differ between up to 50 cells of the judges' doubts; the variances in the cells are those of all votes.
    """
    doubts, f = study_features(study, np.arange(len(study.people)))
    known = ~np.isnan(f)
    y, f = study.people[known] - study.people[known].mean(), f[known] - f[known].mean()
    unsure = np.nan_to_num(doubts[known], nan=0.5) @ 10.0 ** np.arange(doubts.shape[1])
    correlation = float(y @ f / np.sqrt((y @ y) * (f @ f)))
    squares = np.square(y - (y @ f / (f @ f)) * f)
    number = int(np.clip(len(y) // 25, 2, 50))
    edges = np.quantile(unsure, np.linspace(0, 1, number + 1)[1:-1])
    cells = np.unique(np.searchsorted(edges, unsure), return_inverse=True)[1]
    of_cell = np.bincount(cells, squares) / np.bincount(cells)
    roots = np.sqrt(of_cell[cells])
    share, judged = 1 - correlation**2, correlation**2 * study.bought / min(len(study.people), MOST)
    return correlation, share + judged, share * float(roots.mean() ** 2 / squares.mean()) + judged


def main() -> None:
    """Print votes needed and coverage, study by study."""
    named = {"LLMFAO": llmfao, "SEPARABILITY": separability, "PANDALM": pandalm}
    studies = [item for name, read in named.items() if os.environ.get(name) for item in read(Path(os.environ[name]))]
    print(
        f"votes needed for the width that random selection and people's mean have; {STUDIES} studies each; bounds in brackets"
    )
    print(
        f"{'study, instances, judge':<50}{'n':>5}{'ρ':>6}{'random + judge':>16}{'active':>14}{'coverage':>12}",
        flush=True,
    )
    for study in (*studies, *simulated()):
        correlation, random, active = bound(study)
        found = measured(study)
        print(
            f"{study.name:<50}{study.bought:>5}{correlation:>6.2f}{found['random']:>9.3f} [{random:.3f}]{found['active']:>7.3f} [{active:.3f}]"
            f"{found['coverage_random']:>7.3f}{found['coverage']:>6.3f}",
            flush=True,
        )
