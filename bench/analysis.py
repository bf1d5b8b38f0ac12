"""Consistency, Bradley-Terry and Elo at a million rows: ours beside pandas' group-by and FastChat's published ways.

The baselines are rewritten after FastChat's `serve/monitor/elo_analysis.py` and `rating_systems.py`. Where a baseline takes
minutes, some of its rounds are timed and scaled up.
"""

import json
import math
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from html import unescape
from importlib.metadata import version
from statistics import median
from typing import TypeVar

import httpx2
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from analysis.agreement.consistency import consistency_and_strength, rating_sets
from analysis.ranking.bradley_terry import Fits, bradley_terry, fit_win_matrices, rating
from analysis.ranking.comparisons import resampled_win_matrices
from analysis.ranking.elo import elo, sampled_elo, sep_elo_weight
from analysis.types import FloatArray, IntArray, Outcomes
from bench.rating import token
from bench.serving import environment_of, free_port, server_of

RATINGS = 1_000_000
PAIRS = 5  # in a rating set
RATINGS_OF_INSTANCE = 25  # of the study whose findings are timed
RATERS = 1_000
SETS_PER_INSTANCE = 3
SYSTEMS = 20
MATCHUPS = 100_000  # of Elo's bootstrap
ROUNDS = 100
LOOPED = 2_000  # instances of which pandas works out rating sets by a function of one's own; its time is scaled up
FITTED = 2  # of the rounds of a baseline that takes seconds each
TURNS = 5  # of what takes a fraction of a second, in which one turn may fall into a busy moment
PAGE_TURNS = 20
T = TypeVar("T")


def main() -> None:
    """Time ours and the baselines on the same data, compare the numbers, print the ratios."""
    names = ("numpy", "pandas", "scikit-learn")
    print("analysis: " + ", ".join(f"{name} {version(name)}" for name in names))
    rng = np.random.default_rng(1)
    rating_sets_beside_pandas(rng)
    a, b, score, instance = comparisons(rng, RATINGS)
    battles = pd.DataFrame({"a": names_of(a), "b": names_of(b), "score": score, "instance": instance})
    ours_first(a, b, score, instance)
    bradley_terry_beside_fastchat(battles, a, b, score, instance)
    elo_beside_fastchat(battles, a, b, score)
    findings_of_a_study()


def findings_of_a_study() -> None:
    """Time the findings of a whole study of as many ratings in a process of its own, on SQLite, and its page."""
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of(f"sqlite:///{folder}/bench.sqlite3", folder)
        command = [sys.executable, "-m", "bench._findings_study", str(RATINGS // RATINGS_OF_INSTANCE)]
        output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        ratings, reading, estimating, reading_all, computing, megabytes, link = json.loads(output)
        print(
            f"  findings of {ratings:,} ratings: {reading:.1f} s of reading and {estimating:.1f} s for estimates, "
            f"{reading_all:.1f} and {computing:.1f} s for all; {megabytes:.0f} MB at most"
        )
        page_of_findings(environment, link)


def page_of_findings(environment: dict[str, str], link: str) -> None:
    """Time the findings page of the study in the database, and its pictures, and print the web server's memory after them."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    worker = [sys.executable, "manage.py", "worker", "--batch"]
    with server_of(environment, port), httpx2.Client(base_url=address, follow_redirects=True, timeout=60) as browser:
        browser.post(link, data={"csrfmiddlewaretoken": token(browser.get(link).text)})
        page = "/studies/bench/findings/"
        browser.get(page)
        subprocess.run(worker, env=environment, check=True)  # what the page has asked for
        shown = browser.get(page).raise_for_status().text
        pictures = sorted(set(re.findall(r'src="(/studies/bench/[^"]+)"', shown)))
        cold = [fetched(browser, unescape(picture)) for picture in pictures]
        warm = sorted(fetched(browser, page) for _ in range(PAGE_TURNS))
        print(
            f"  its page: {median(warm):.2f} s warm ({warm[0]:.2f} to {warm[-1]:.2f}), {len(shown) / 1024:.0f} KB; "
            f"{len(cold)} pictures, drawn for the first time in {median(cold):.2f} s each (at most {max(cold):.2f})"
        )


def fetched(browser: httpx2.Client, path: str) -> float:
    """Return the seconds that a request takes."""
    begun = time.perf_counter()
    browser.get(path).raise_for_status()
    return time.perf_counter() - begun


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of this process, which other work on the machine leaves alone, and the result."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def least(work: Callable[[], T]) -> tuple[float, T]:
    """Return the least seconds of some turns, and the result."""
    turns = [timed(work) for _ in range(TURNS)]
    return min(seconds for seconds, _ in turns), turns[-1][1]


def said(what: str, ours: float, baseline: str, theirs: float, gap: float | None = None) -> None:
    """Print a ratio, and how far the numbers differ where both work out the same."""
    compared = "" if gap is None else f"; largest difference {gap:.0e}"
    print(f"  {what}: {baseline} {theirs:.2f} s, ours {ours:.3f} s: {ours / theirs:.4f} of it{compared}")


def rating_sets_beside_pandas(rng: np.random.Generator) -> None:
    """Consistency and preference strength of rating sets whose rows come in any order."""
    n_sets = RATINGS // PAIRS
    matchup, rater = np.divmod(np.arange(n_sets), SETS_PER_INSTANCE)
    rater = (matchup + rater) % RATERS
    order = rng.permutation(RATINGS)
    columns = {
        "instance": np.repeat(matchup, PAIRS)[order],
        "pair": np.tile(np.arange(PAIRS), n_sets)[order],
        "a": np.repeat(matchup % (SYSTEMS - 1), PAIRS)[order],
        "b": np.repeat(matchup % (SYSTEMS - 1) + 1, PAIRS)[order],
        "verdict": rng.integers(-1, 2, size=RATINGS).astype(np.float64),
        "rater": np.repeat(rater, PAIRS)[order],
    }
    outcomes = Outcomes(**columns)
    frame = pd.DataFrame(columns)
    print(f"consistency and preference strength of {RATINGS:,} ratings, rows in random order")
    ours, (steady, strength) = least(lambda: ours_of_sets(outcomes))
    some = frame[frame["instance"] < LOOPED]
    theirs, known = timed(lambda: some.groupby(SET)["verdict"].agg([plain_consistency, "mean"]))
    scale = len(frame) / len(some)
    gap = float(np.abs(known["plain_consistency"].to_numpy() - steady[: len(known)]).max())
    said(
        "with a function for consistency",
        ours,
        f"pandas' group-by, {LOOPED:,} instances scaled up,",
        theirs * scale,
        gap,
    )
    theirs, known = least(lambda: built_in(frame))
    gap = max(
        float(np.abs(known[name].to_numpy() - own).max()) for name, own in (("steady", steady), ("mean", strength))
    )
    said(f"vectorised, in built-in aggregates, least of {TURNS} turns", ours, "pandas' group-by", theirs, gap)


SET = ["instance", "a", "b", "rater"]


def ours_of_sets(outcomes: Outcomes) -> tuple[FloatArray, FloatArray]:
    """Ours, from columns of verdicts."""
    sets = rating_sets(outcomes)
    return consistency_and_strength(sets.ratings)


def plain_consistency(verdicts: "pd.Series[float]") -> float:
    """Consistency as its definition reads, for a group: no aggregate of pandas' own is it."""
    return 0.0 if (verdicts == -1).any() and (verdicts == 1).any() else float(verdicts.abs().mean())


def built_in(frame: pd.DataFrame) -> pd.DataFrame:
    """The same from aggregates that pandas has compiled."""
    groups = frame.assign(size=frame["verdict"].abs()).groupby(SET)
    found = groups.agg(low=("verdict", "min"), high=("verdict", "max"), mean=("verdict", "mean"), size=("size", "mean"))
    return found.assign(steady=found["size"].where((found["low"] >= 0) | (found["high"] <= 0), 0.0))


def comparisons(rng: np.random.Generator, n: int) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Comparisons of systems by strengths of their own, five on each instance."""
    strengths = rng.normal(size=SYSTEMS)
    a = rng.integers(SYSTEMS, size=n)
    b = (a + rng.integers(1, SYSTEMS, size=n)) % SYSTEMS
    won = rng.random(n) < 1 / (1 + np.exp(strengths[b] - strengths[a]))
    return a, b, np.where(rng.random(n) < 0.15, 0.5, won), np.arange(n) // PAIRS


def names_of(codes: IntArray) -> list[str]:
    """Names of systems, as battles have them."""
    return [f"system-{code:02}" for code in codes.tolist()]


def ours_first(a: IntArray, b: IntArray, score: FloatArray, instance: IntArray) -> None:
    """Print our memory before a baseline has taken any."""
    bootstrap(a, b, score, instance)
    sampled_elo(
        a[:MATCHUPS], b[:MATCHUPS], score[:MATCHUPS], np.arange(MATCHUPS), n_systems=SYSTEMS, **drawing(MATCHUPS)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory: {peak:.0f} MB at most, with the rating sets in pandas and all of ours run once")


def drawing(n: int) -> dict[str, object]:
    """The settings of Elo's bootstrap over n instances of one matchup."""
    return {"rng": np.random.default_rng(3), "rounds": ROUNDS, "clusters": np.arange(n)}


def bootstrap(a: IntArray, b: IntArray, score: FloatArray, clusters: IntArray | None) -> Fits:
    """Strengths of all rounds."""
    rng = np.random.default_rng(2)
    matrices = resampled_win_matrices(a, b, score, n_systems=SYSTEMS, rng=rng, clusters=clusters, rounds=ROUNDS)
    return fit_win_matrices(matrices)


def bradley_terry_beside_fastchat(
    battles: pd.DataFrame, a: IntArray, b: IntArray, score: FloatArray, instance: IntArray
) -> None:
    """Bradley-Terry with a bootstrap over instances, and over comparisons."""
    print(f"Bradley-Terry of {RATINGS:,} comparisons of {SYSTEMS} systems, {ROUNDS} bootstrap rounds")
    fitted, fit = timed(lambda: rating(bradley_terry(a, b, score, n_systems=SYSTEMS).strengths))
    rounds = {"instances": instance, "comparisons": None}
    ours = {what: timed(partial(bootstrap, a, b, score, clusters))[0] for what, clusters in rounds.items()}
    for name, way in (("design matrix", by_design_matrix), ("pivot tables", by_pivot_tables)):
        theirs, known = timed(partial(way, battles))
        said("one fit", fitted, f"FastChat's {name}", theirs, float(np.abs(known - known.mean() + 1000 - fit).max()))
        for what, seconds in ours.items():
            theirs = (
                sum(timed(partial(round_of, way, battles, what, seed))[0] for seed in range(FITTED)) * ROUNDS / FITTED
            )
            said(f"{ROUNDS} rounds of {what}", seconds, f"FastChat's {name}, {FITTED} rounds scaled up,", theirs)


def round_of(way: Callable[[pd.DataFrame], FloatArray], battles: pd.DataFrame, what: str, seed: int) -> FloatArray:
    """A round of the bootstrap."""
    return way(redrawn(battles, what, seed))


def redrawn(battles: pd.DataFrame, what: str, seed: int) -> pd.DataFrame:
    """A round's battles: drawn one by one, or the battles of instances that are drawn."""
    if what == "comparisons":
        return battles.sample(frac=1.0, replace=True, random_state=seed)
    drawn = np.random.default_rng(seed).integers(RATINGS // PAIRS, size=RATINGS // PAIRS)
    return battles.iloc[(drawn[:, np.newaxis] * PAIRS + np.arange(PAIRS)).ravel()]


def by_design_matrix(battles: pd.DataFrame) -> FloatArray:
    """Logistic regression with a row for each battle, twice, so that a tie is won once and lost once."""
    names = sorted(set(battles["a"]) | set(battles["b"]))
    place = pd.Series(range(len(names)), index=names)
    n = len(battles)
    design = np.zeros((2 * n, len(names)))
    for column, sign in (("a", 1), ("b", -1)):
        design[np.arange(2 * n), np.tile(place[battles[column]].to_numpy(), 2)] = sign * math.log(10)
    score = battles["score"].to_numpy()
    won = np.concatenate([score > 0, score == 1])
    model = LogisticRegression(fit_intercept=False).fit(design, won)
    return 400 * model.coef_[0] + 1000


def by_pivot_tables(battles: pd.DataFrame) -> FloatArray:
    """Logistic regression with two rows for each ordered pair of systems, weighted by wins, a tie as half of one."""
    wins = None
    for score, weight in ((1.0, 2), (0.5, 1), (0.0, 2)):
        some = battles[battles["score"] == score]
        table = pd.pivot_table(some, index="a", columns="b", values="score", aggfunc="size", fill_value=0)
        for one in [table] if score == 1 else [table.T] if score == 0 else [table, table.T]:
            wins = weight * one if wins is None else wins.add(weight * one, fill_value=0)
    counts = wins.fillna(0).to_numpy()
    first, second = np.nonzero(~np.eye(len(counts), dtype=bool))
    design = np.zeros((2 * len(first), len(counts)))
    rows = np.arange(len(first))
    for shift in (0, len(first)):
        design[rows + shift, first], design[rows + shift, second] = math.log(10), -math.log(10)
    weight = np.concatenate([counts[first, second], counts[second, first]])
    won = np.repeat([1, 0], len(first))
    model = LogisticRegression(fit_intercept=False, C=np.inf, tol=1e-6).fit(design, won, sample_weight=weight)
    return 400 * model.coef_[0] + 1000


def elo_beside_fastchat(battles: pd.DataFrame, a: IntArray, b: IntArray, score: FloatArray) -> None:
    """Elo and SEP-Elo over all comparisons, and their bootstrap over a tenth of them."""
    delta = np.random.default_rng(4).uniform(-0.2, 1, size=RATINGS)
    factor = sep_elo_weight(delta)
    print(f"Elo of {RATINGS:,} comparisons, and {ROUNDS} bootstrap rounds of {MATCHUPS:,}")
    some, columns = battles.iloc[:MATCHUPS], (a[:MATCHUPS], b[:MATCHUPS], score[:MATCHUPS], np.arange(MATCHUPS))
    for name, weights in (("Elo", None), ("SEP-Elo", factor)):
        ours, found = timed(partial(elo, a, b, score, n_systems=SYSTEMS, weights=weights))
        theirs, known = timed(partial(looped_elo, battles, weights))
        said(f"{name}, one fit", ours, "FastChat's loop", theirs, float(np.abs(known - found).max()))
        part = None if weights is None else weights[:MATCHUPS]
        ours, _ = timed(partial(sampled_elo, *columns, n_systems=SYSTEMS, weights=part, **drawing(MATCHUPS)))
        theirs = sum(timed(partial(redrawn_elo, some, part, seed))[0] for seed in range(FITTED)) * ROUNDS / FITTED
        said(f"{name}, {ROUNDS} rounds", ours, f"FastChat's loop, {FITTED} rounds scaled up,", theirs)


def redrawn_elo(battles: pd.DataFrame, factor: FloatArray | None, seed: int) -> FloatArray:
    """A round: battles drawn one by one, in that order."""
    drawn = battles.sample(frac=1.0, replace=True, random_state=seed)
    return looped_elo(drawn, None if factor is None else factor[drawn.index.to_numpy()])


def looped_elo(battles: pd.DataFrame, factor: FloatArray | None) -> FloatArray:
    """Ratings in a dictionary, updated battle by battle; K is 4, or a factor of it for each battle."""
    ratings: dict[str, float] = defaultdict(lambda: 1000.0)
    steps = [4.0] * len(battles) if factor is None else (4 * factor).tolist()
    for (_, one, other, won), k in zip(battles[["a", "b", "score"]].itertuples(), steps, strict=True):
        mine, theirs = ratings[one], ratings[other]
        expected_mine = 1 / (1 + 10 ** ((theirs - mine) / 400))
        expected_theirs = 1 / (1 + 10 ** ((mine - theirs) / 400))
        ratings[one] += k * (won - expected_mine)
        ratings[other] += k * (1 - won - expected_theirs)
    return np.array([ratings[name] for name in sorted(ratings)])
