"""Print tables 1 to 5 of Predicting Text Preference via Structured Comparative Reasoning, on a study of yours.

It needs a study whose instances have gold labels, and an endpoint. For each row and each round it adds a judge, lets it
rate the study's pairs, and reads how often it is right. A round is the judge's seed; judges of one round share the
answers that they have in common. The same command again resumes, and asks nothing twice.

Usage, in the folder of manage.py:

    python examples/papers/structured_comparison.py STUDY --endpoint NAME [--table 1 2 3 4 5] [--rounds 5] [--max-cost 5]

`--max-cost` caps each judge's run. Costs by the paper's sizes: see `add_judge` and `run_judge`.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

SAMPLES, BUDGETS, SHOTS = 8, (8, 15, 24), (3, 5)


class Row(NamedTuple):
    """A row of a table: its label, the method, and the options that `add_judge` gets."""

    label: str
    method: str
    options: dict[str, Any] = {}  # never changed


def sc2(label: str, **options: Any) -> Row:
    """Return a row of SC², by default with eight tables, a tournament, and the same aspects for all pairs."""
    size = {} if "budget" in options else {"samples": SAMPLES}
    return Row(label, "sc2", {**size, "scheme": "tournament", "aspects": "offline", **options})


def rows_of(table: int) -> Iterator[Row]:
    """Yield the rows of one of the paper's tables."""
    if table == 1:
        yield Row("direct", "direct")
        yield Row("direct, with aspects", "direct-aspects", {"aspects": "fixed"})
        yield Row("chain of thought", "cot")
        yield Row("chain of thought, one example", "cot-1shot", {"aspects": "fixed"})
        yield Row("self-consistency", "self-consistency", {"samples": SAMPLES})
        yield sc2("SC²")
    elif table == 2:
        yield from (sc2(scheme, scheme=scheme) for scheme in ("random", "tournament", "exact"))
    elif table == 3:
        for name, asked, of_sc2 in (("online", "asked", {"aspect_samples": 3}), ("offline", "fixed", {})):
            yield Row(f"direct, aspects {name}", "direct-aspects", {"aspects": asked})
            yield sc2(f"SC², aspects {name}", aspects=name, **of_sc2)
    else:
        for shots in SHOTS if table == 5 else (0,):
            with_examples = f", {shots} examples" if shots else ""
            shown = {"shots": shots} if shots else {}
            tables = {"example_tables": True, "comparator_shots": shots} if shots else {}
            for budget in BUDGETS:
                label = f"{{}}, {budget} calls{with_examples}"
                yield Row(label.format("self-consistency"), "self-consistency", {"samples": budget, **shown})
                yield sc2(label.format("SC²"), budget=budget, **shown, **tables)


def run(
    study: str, endpoint: str, table: int, number: int, row: Row, rounds: int, max_cost: str
) -> list[dict[str, Any]]:
    """Ask the judges of a row; return what the study says of each, over all pairs that have a gold label."""
    from django.core.management import call_command

    names = [f"paper-t{table}-{number}-r{seed}-{endpoint}" for seed in range(1, rounds + 1)]
    params = [f"--param={name}={json.dumps(value)}" for name, value in row.options.items()]
    for seed, name in enumerate(names, start=1):
        settings = [f"--method={row.method}", f"--endpoint={endpoint}", f"--seed={seed}", *params]
        call_command("add_judge", name, *settings, stdout=sys.stderr)
        cap = [f"--max-cost={max_cost}"] if max_cost else []
        call_command("run_judge", study, f"--judge={name}", *cap, stdout=sys.stderr)
    told = StringIO()
    call_command("judge_accuracy", study, "--format=json", stdout=told)
    judges = {one["judge"]: one["subsets"] for one in json.loads(told.getvalue())["judges"]}
    return [subset for name in names for subset in judges.get(name, []) if subset["kind"] == "all"]


def mean(found: list[dict[str, Any]], measure: str) -> str:
    """Write the mean of a measure over the rounds, with their standard deviation."""
    values = [one[measure]["value"] for one in found if one[measure]["value"] is not None]
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{fmean(values):.3f}{spread}" if values else "–"


def main(arguments: list[str] | None = None) -> None:
    """Run the rows of the wanted tables and print each table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("study")
    options.add_argument("--endpoint", required=True)
    options.add_argument("--table", nargs="+", type=int, choices=range(1, 6), default=[1, 2, 3, 4, 5])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--max-cost", default="")
    given = options.parse_args(arguments)
    measures = {"accuracy": "accuracy", "calls": "calls_per_verdict", "tokens": "tokens_per_verdict"}
    for table in given.table:
        print(f"Table {table}: mean over {given.rounds} rounds", *measures, sep="\t")
        for number, row in enumerate(rows_of(table), start=1):
            found = run(given.study, given.endpoint, table, number, row, given.rounds, given.max_cost)
            print(row.label, *(mean(found, measure) for measure in measures.values()), sep="\t", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    main()
