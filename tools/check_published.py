"""Take published studies through the whole path, from their files to findings, and compare each number with golden ones.

    make check-published SEPARABILITY=FOLDER LLMFAO=FOLDER ALPACA_EVAL=FOLDER

The files are no part of the project: SEPARABILITY has the two MTurk files of *Compare without Despair*
(github.com/dill-lab/separability), LLMFAO the crowd's and two judges' comparisons (github.com/dustalov/llmfao) with the texts
as `pairs-crowd.jsonl`. Their numbers are in tests/golden, computed apart from this project. ALPACA_EVAL is a checkout of
github.com/tatsu-lab/alpaca_eval, whose leaderboard has the length-controlled win rates of the models whose annotations are there.
"""

import csv
import json
import math
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

Numbers = dict[str, Any]
GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
TOLERANCE = 1e-9
CONFIGURATIONS = {  # keys of the golden files: data set, file, A and B
    "gpt35_vicuna_cnndm": (
        *("cnn_dm", "vicuna-7b_gpt-3.5-turbo-instruct_cnn_dm_pref_data.csv"),
        *("vicuna-7b", "gpt-3.5-turbo-instruct"),
    ),
    "vicuna_mistral_samsum": (
        *("samsum", "mistral-7b_vicuna-7b_samsum_pref_data.csv"),
        *("mistral-7b", "vicuna-7b"),
    ),
}
LEVELS = ("nominal", "ordinal", "interval")
SIDES = {-1: "left", 0: "tie", 1: "right"}
JUDGES = ("gpt3", "gpt4")
ALPACA_EVAL_JUDGE = "weighted_alpaca_eval_gpt4_turbo"
ALPACA_EVAL_REFERENCE = "gpt4_1106_preview"  # with which the others are compared
LEADERBOARD = f"src/alpaca_eval/leaderboards/data_AlpacaEval_2/{ALPACA_EVAL_JUDGE}_leaderboard.csv"
LEAST_CORRELATION, LARGEST_DIFFERENCE = 0.98, 2.0  # with the published rates, in percentage points


def manage(command: str, *arguments: object) -> str:
    """Run a management command in this process; return what it prints."""
    from django.core.management import call_command

    printed = StringIO()
    call_command(command, *map(str, arguments), stdout=printed, stderr=StringIO())
    return printed.getvalue()


def separability(folder: Path) -> Numbers:
    """Return the numbers of both MTurk files by key: ratings, consistency, agreement, and separability by ROUGE-1."""
    for dataset, name, a, b in CONFIGURATIONS.values():
        named = ("--dataset", dataset, "--system-1", a, "--system-2", b)
        manage("import_mturk", folder / name, "--study", "published-mturk", *named)
    manage("compute_separability", "published-mturk", "--similarity", "rouge1")
    found = json.loads(manage("findings", "published-mturk", "--format", "json"))
    by_dataset = {one["dataset"]: one for one in found["configurations"]}
    return {key: _configuration(by_dataset[dataset]) for key, (dataset, *_) in CONFIGURATIONS.items()}


def _configuration(one: Numbers) -> Numbers:
    people, places = one["raters"][0], one["raters"][0]["shown_first"]
    return {
        "n_items": one["instances"],
        "n_units_item_x_pair": one["pairs"],
        "n_workers": people["raters"],
        "n_rating_sets": people["rating_sets"],
        "n_pairwise_ratings": people["ratings"],
        "rating_counts_model_coords": {name: people["counts"][name.lower()] for name in ("A", "tie", "B")},
        "rating_counts_display_coords": {
            "first_shown": places["first"],
            "tie": places["tie"],
            "second_shown": places["second"],
        },
        "mean_consistency": people["mean_consistency"]["value"],
        "consistency_distribution_counts": people["consistency_distribution"],
        "proportion_perfectly_consistent": people["fully_consistent"]["value"],
        "mean_pref_strength": people["mean_preference_strength"]["value"],
        "pref_strength_distribution_counts": people["preference_strength_distribution"],
        "pairwise_percent_agreement": people["raw_agreement"]["value"],
        **{f"krippendorff_alpha_{level}": people["krippendorff_alpha"][level]["value"] for level in LEVELS},
        "norm_sep_paper": list(one["separability"]["values"].values()),
    }


def golden_separability() -> Numbers:
    """Return the golden numbers that `separability` finds."""
    summary, aligned = (_read(GOLDEN / name) for name in ("human_summary.json", "alignments_rouge1.json"))
    unasked = {"file", "model_A", "model_B", "dataset", "paper_separability_level"}
    # Numbers that findings do not have.
    unasked |= {"proportion_inconsistent", "items_all3_perfectly_consistent", "items_all3_inconsistent"}
    unasked |= {"mean_abs_pref_strength", "unanimous_units", "majority_counts", "fleiss_kappa_3cat"}
    return {
        key: {name: value for name, value in summary[key].items() if name not in unasked}
        | {"norm_sep_paper": aligned[key]["norm_sep_paper"]}
        for key in CONFIGURATIONS
    }


def llmfao(folder: Path) -> Numbers:
    """Return the numbers of the crowd and two judges: by side of the screen from the exported rows, the others from findings."""
    files = {judge: folder / f"{judge}-crowd-comparisons.csv" for judge in JUDGES}
    texts = ("--texts", folder / "pairs-crowd.jsonl")
    manage("import_ratings", folder / "crowd-comparisons.csv", "--study", "published-crowd", *texts)
    for judge, path in files.items():
        manage("import_judgments", path, "--study", "published-crowd", "--judge", judge)
    found = json.loads(manage("findings", "published-crowd", "--format", "json"))
    with tempfile.TemporaryDirectory() as out:
        manage("export_study", "published-crowd", "--what", "ratings", "judgments", "--format", "jsonl", "--out", out)
        people, judged = (list(_rows(path)) for path in sorted(Path(out).glob("*.jsonl"), reverse=True))
    votes: dict[Any, dict[str, str]] = defaultdict(dict)
    for row in people:
        votes[_unit(row)][row["rater"]] = _side(row, row["rating"])
    everyone = [one["raters"][0] for one in found["configurations"]]
    (consistent,) = [one for one in found["pooled"]["fully_consistent"] if one["rater"] == "people"]
    pairs = [pair for given in votes.values() for pair in combinations(given.values(), 2)]
    raw = found["pooled"]["people_agreement"]["raw_agreement"]
    return {
        "n_rows": sum(one["ratings"] for one in everyone),
        "n_pairs": sum(one["pairs"] for one in found["configurations"]),
        "n_workers": len(found["raters"]),
        "votes_per_pair": {str(n): count for n, count in Counter(map(len, votes.values())).items()},
        "winner_counts": _winners(everyone),
        "n_prompts": consistent["n_instances"],
        "n_models": len(found["rankings"][0]["systems"]),
        "same_worker_same_pair_duplicates": len(people) - sum(map(len, votes.values())),
        **_alphas(list(votes.values())),
        "plurality": dict(Counter(map(_plurality, votes.values()))),
        **{
            judge: _judge(found, judge, {_unit(row): row for row in judged if row["judge"] == judge}, votes)
            | {"human_human": [_share([raw]), _without_ties(pairs)]}
            for judge in JUDGES
        },
    }


def _judge(found: Numbers, judge: str, rows: dict[Any, Numbers], votes: dict[Any, dict[str, str]]) -> Numbers:
    own = [rater for one in found["configurations"] for rater in one["raters"] if rater["rater"] == f"judge:{judge}"]
    said = {unit: _side(row, row["verdict"]) for unit, row in rows.items()}
    beside = [(said[unit], vote) for unit, given in votes.items() for vote in given.values()]
    (overall,) = [one["overall"] for one in found["judges_against_people"] if one["judge"] == judge]
    return {
        "n": len(rows),
        "winner_counts": _winners(own),
        "gpt_human": [_share([one["agreement_with_people"] for one in own]), _without_ties(beside)],
        "agree_with_crowd_plurality": _share([overall["accuracy"]])[:2],
    }


def golden_llmfao(path: Path = GOLDEN / "llmfao_agreement.json") -> Numbers:
    """Return the golden numbers in the shape of `llmfao`."""
    golden: Numbers = _read(path)
    for judge in JUDGES:
        shares = golden[judge].pop("fastchat_agreement")
        for who in ("gpt_human", "human_human"):
            golden[judge][who] = [list(shares[f"{who}_{ties}_tie"].values()) for ties in ("with", "without")]
        golden[judge]["agree_with_crowd_plurality"] = list(golden[judge]["agree_with_crowd_plurality"].values())
    return golden


def _winners(raters: list[Numbers]) -> dict[str, int]:
    shown = Counter[str]()
    for one in raters:
        shown.update(one["shown_first"])
    return {"left": shown["first"], "tie": shown["tie"], "right": shown["second"]}


def _share(estimates: list[Numbers]) -> list[float]:
    """Return units that agree, all units, and their ratio."""
    agree, n = (sum(one["value"] * one["n"] for one in estimates), sum(one["n"] for one in estimates))
    return [agree, n, agree / n]


def _without_ties(pairs: list[tuple[str, ...]]) -> list[float]:
    decided = [one for one in pairs if "tie" not in one]
    agree = sum(one == other for one, other in decided)
    return [agree, len(decided), agree / len(decided)]


def _alphas(votes: list[dict[str, str]]) -> dict[str, float]:
    """Return alpha by the side of the screen: left below tie below right."""
    import numpy as np

    from analysis.agreement.coefficients import krippendorff_alpha

    place = {side: number for number, side in SIDES.items()}
    table = np.full((len(votes), max(map(len, votes))), np.nan)
    for row, given in zip(table, votes, strict=True):
        row[: len(given)] = [place[side] for side in given.values()]
    return {f"krippendorff_alpha_{level}": krippendorff_alpha(table, level) for level in LEVELS}


def _plurality(given: dict[str, str]) -> str:
    (first, most), *others = Counter(given.values()).most_common()
    return "None" if others and others[0][1] == most else first


def alpaca_eval(folder: Path) -> Numbers:
    """Compare win rates at equal lengths with the published ones; print both figures, and return whether each is good enough."""
    import numpy as np

    from analysis.agreement.rank_correlation import spearman

    with (folder / LEADERBOARD).open(encoding="utf-8", newline="") as lines:
        published = {row[""]: row["length_controlled_winrate"] for row in csv.DictReader(lines)}
    files = sorted(folder.glob(f"results/*/{ALPACA_EVAL_JUDGE}/annotations.json"))
    with tempfile.TemporaryDirectory() as name:
        for path in files:
            annotations = json.loads(path.read_text(encoding="utf-8"))
            model = annotations[0]["generator_2"]
            if published.get(model) and model != ALPACA_EVAL_REFERENCE:
                for annotation in annotations:  # the published rates are over all data sets together
                    annotation.pop("dataset", None)
                one_set = Path(name) / f"{model}.json"
                one_set.write_text(json.dumps(annotations), encoding="utf-8")
                manage("import_alpacaeval", one_set, "--study", "published-alpaca-eval")
    found = json.loads(manage("findings", "published-alpaca-eval", "--format", "json"))
    (judge,) = [one["configurations"] for one in found["length_adjusted"] if one["kind"] == "judge"]
    rates = {one["system_b"]: 1 - one["win_rate_a"]["value"] for one in judge}
    theirs = np.array([float(published[name]) for name in rates])
    ours = 100 * np.array(list(rates.values()))
    correlation, difference = spearman(ours, theirs), float(np.abs(ours - theirs).mean())
    print(f"alpaca_eval: {len(ours)} models, Spearman {correlation:.4f}, mean difference {difference:.2f} points")
    return {"correlated": int(correlation >= LEAST_CORRELATION), "near": int(difference <= LARGEST_DIFFERENCE)}


def _unit(row: Numbers) -> tuple[str, ...]:
    return row["instance_id"], row["system_a"], row["system_b"]


def _side(row: Numbers, verdict: int) -> str:
    a_is_left = row["order"] == "ab" if row.get("order") else row["shown_first"] == "a"
    return SIDES[verdict if a_is_left else -verdict]


def _rows(path: Path) -> Iterator[Numbers]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def leaves(numbers: Any, name: str = "") -> dict[str, float]:
    """Return every number by its path."""
    if not isinstance(numbers, dict | list):
        return {name: numbers}
    parts = numbers.items() if isinstance(numbers, dict) else enumerate(numbers)
    return {path: value for key, part in parts for path, value in leaves(part, f"{name}/{key}").items()}


def differences(found: Numbers, golden: Numbers) -> tuple[int, float, list[str]]:
    """Return how many numbers there are, the largest difference, and what is missing, unknown or beyond tolerance."""
    ours, theirs = leaves(found), leaves(golden)
    wrong = [f"{name}: {ours.get(name)}, golden {theirs.get(name)}" for name in sorted(ours.keys() ^ theirs.keys())]
    gaps = {name: abs(ours[name] - theirs[name]) for name in ours.keys() & theirs.keys()}
    far = (name for name, gap in sorted(gaps.items()) if math.isnan(gap) or gap > TOLERANCE)
    wrong += [f"{name}: {ours[name]}, golden {theirs[name]}" for name in far]
    return len(theirs), max(gaps.values(), default=math.nan), wrong


STUDIES: dict[str, tuple[Callable[[Path], Numbers], Callable[[], Numbers]]] = {
    "separability": (separability, golden_separability),
    "llmfao": (llmfao, golden_llmfao),
    "alpaca_eval": (alpaca_eval, lambda: {"correlated": 1, "near": 1}),
}


def main(arguments: list[str]) -> int:
    """Check each study named as NAME=FOLDER in a database of its own; return 1 where a number differs."""
    folders = dict(argument.split("=", 1) for argument in arguments)
    if not folders or not folders.keys() <= STUDIES.keys():
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"TANDEM_DATA_DIR": data, "DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "WARNING"}
        os.environ.pop("DATABASE_URL", None)
        import django

        django.setup()
        manage("migrate")
        status = 0
        for name, folder in folders.items():
            compute, golden = STUDIES[name]
            n, largest, wrong = differences(compute(Path(folder)), golden())
            print(f"{name}: {n} numbers, largest difference {largest:.1e}, {len(wrong)} beyond {TOLERANCE:.0e}")
            print("".join(f"  {line}\n" for line in wrong), end="")
            status |= bool(wrong)
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
