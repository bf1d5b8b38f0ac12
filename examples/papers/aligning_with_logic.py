"""Print tables 1 and 2 of Aligning with Logic, on a study of yours, and how much noise a repair takes back.

Table 1 audits two judges, one that answers directly and one that reasons first: agreement with people or gold, transitivity,
commutativity and negation invariance, in percent. Table 2 turns a share of the preferences around, repairs them, and counts;
with `--out` the preferences of each row are written as training data, on which the models of table 3 are trained. The last
table repeats the turning around. The same command again asks a judge nothing twice, and draws the same.

Usage, in the folder of manage.py:

    python examples/papers/aligning_with_logic.py STUDY [--endpoint NAME] [--repeats 10] [--sample N] [--max-cost 5]
        [--rater people] [--flip 10 20] [--draws 100] [--out FOLDER]

Without `--endpoint` there is no table 1; `--rater` is people or judge:NAME. `--max-cost` caps each judge's run.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

METHODS = ("direct", "cot")


def percent(share: float | None) -> str:
    """Write a share as a percentage."""
    return "–" if share is None or np.isnan(share) else f"{100 * share:.1f}"


def audits(given: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Ask both judges; yield the rows of table 1, one for each judge and data set."""
    from django.core.management import call_command

    settings = {"repeats": given.repeats, "sample": given.sample, "max-cost": given.max_cost}
    options = [f"--{name}={value}" for name, value in settings.items() if value]
    for method in METHODS:
        name = f"paper-{method}-{given.endpoint}"
        call_command("add_judge", name, f"--method={method}", f"--endpoint={given.endpoint}", stdout=sys.stderr)
        told = StringIO()
        call_command("logic_audit", given.study, f"--judge={name}", "--run", "--format=json", *options, stdout=told)
        [judge] = json.loads(told.getvalue())["raters"]
        for dataset, found in judge["datasets"].items():
            measures = [found[measure] for measure in ("human_agreement", "commutativity", "negation_invariance")]
            measures.insert(1, found["transitivity"]["5"])
            yield judge["rater"], dataset, *(percent(measure["value"]) for measure in measures)


def turned_around(given: Any, share: float, draw: int) -> Any:
    """Return the preferences with a share of them turned around, each with this chance."""
    turned = np.zeros(len(given), dtype=bool)
    turned[given.decided] = np.random.default_rng((0, draw)).random(int(given.decided.sum())) < share
    return replace(given, verdict=np.where(turned, -given.verdict, given.verdict))


def stages(study: Any, given: Any, share: float, out: str) -> Iterator[tuple[str, ...]]:
    """Yield the rows of table 2, and write the preferences of each into a folder, where one is named."""
    from reporting.refinement.refining import repair_study, report
    from reporting.refinement.training_files import AsGiven, Options, write_training_data

    noisy = turned_around(given, share, 0)
    repaired = repair_study(noisy)
    raw, after = report(repair_study(given)), report(repaired)
    rows = [
        ("raw", AsGiven(given), raw, "before", 1),
        ("perturbed", AsGiven(noisy), after, "before", 1),
        ("repaired", repaired, after, "after", 1),
        ("repaired-negated", repaired, after, "after", 2),
    ]
    for name, training, numbers, when, times in rows:
        if out:
            Path(out).mkdir(parents=True, exist_ok=True)
            path, options = Path(out) / f"{name}.jsonl", Options(negated=times == 2)
            write_training_data(training, path, title=study.title, question=study.question, options=options)
        shares = [numbers["transitivity"]["5"][when], numbers["commutativity"][when]]
        size = times * len(training.pairs)
        yield name, *(percent(one["value"]) for one in shares), str(size), f"{size / len(given.instances):.1f}"


def noise(given: Any, share: float, draws: int) -> Iterator[str]:
    """Yield three shares, as means and 95 % of the draws: right before a repair, right after it, and repaired at all."""
    from reporting.refinement.refining import repair_study

    found = []
    for draw in range(draws):
        noisy = turned_around(given, share, draw)
        turned = (noisy.verdict != given.verdict)[given.decided]
        outcome = repair_study(noisy).found.outcome  # 1 kept, -1 reversed, 0 equal in the ranking
        implied = outcome != 0
        right = np.where(turned, outcome == -1, outcome == 1)[implied]
        found.append([(~turned).mean(), right.mean() if len(right) else np.nan, implied.mean()])
    for values in np.array(found).T:
        low, high = np.nanpercentile(values, (2.5, 97.5))
        yield f"{percent(np.nanmean(values))} [{percent(low)}, {percent(high)}]"


def main(arguments: list[str] | None = None) -> None:
    """Ask the judges and print the tables."""
    from annotation.studies.services import find_study
    from reporting.logic.preferences import Chosen, read_preferences

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("study")
    options.add_argument("--endpoint", default="")
    options.add_argument("--repeats", type=int, default=10)
    options.add_argument("--sample", type=int)
    options.add_argument("--max-cost", default="")
    options.add_argument("--rater", default="people")
    options.add_argument("--flip", nargs="+", type=float, default=[10.0], help="percentages")
    options.add_argument("--draws", type=int, default=100)
    options.add_argument("--out", default="")
    given = options.parse_args(arguments)
    if given.endpoint:
        print("Table 1: audits", "dataset", "H", "s_tran(5)", "s_comm", "s_neg", sep="\t")
        for row in audits(given):
            print(*row, sep="\t", flush=True)
    study = find_study(given.study)
    preferences = read_preferences(study, Chosen((given.rater,)))
    if not preferences.decided.any():
        sys.exit(f"{study.slug} has no preference by {given.rater}; name another --rater")
    print(f"Table 2: {given.flip[0]:g}% turned around", "s_tran(5)", "s_comm", "data", "an instance", sep="\t")
    for row in stages(study, preferences, given.flip[0] / 100, given.out):
        print(*row, sep="\t")
    print(f"Noise: {given.draws} draws", "right before the repair", "right after it", "repaired", sep="\t")
    for flip in given.flip:
        print(f"{flip:g}%", *noise(preferences, flip / 100, given.draws), sep="\t")


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    main()
