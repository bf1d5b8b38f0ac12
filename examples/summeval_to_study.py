"""Write a study file of a file of SummEval's form: one instance an article, each model's summary, and experts' scores as gold.

SummEval's file has one summary a line: `id` of the article, `model_id`, `decoded` (the summary), `text` (the article, in the paired
file) and `expert_annotations`, a list of scores by name (`coherence`, `consistency`, `fluency`, `relevance`). Gold is the experts'
mean. Standard library only.

Usage: python summeval_to_study.py FILE [--aspect coherence] [--dataset NAME] > study.jsonl
"""

import argparse
import json
import sys
from statistics import fmean


def main() -> None:
    """Read the file, and write the study file to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="model_annotations.aligned.paired.jsonl, or one of its form")
    parser.add_argument("--aspect", default="coherence", help="whose scores are gold (default: coherence)")
    parser.add_argument("--dataset", default="", help="name of the data set (default: summeval-ASPECT)")
    given = parser.parse_args()
    articles: dict[str, dict[str, object]] = {}
    generations: dict[str, dict[str, list[str]]] = {}
    scores: dict[str, dict[str, float]] = {}
    with open(given.file, encoding="utf-8") as lines:  # noqa: PTH123 (standard input is a file too)
        for number, line in enumerate(lines, start=1):
            row = json.loads(line)
            try:
                name, model, text = row["id"], row["model_id"], row["text"]
                points = [float(one[given.aspect]) for one in row["expert_annotations"]]
                generations.setdefault(name, {})[model] = [row["decoded"]]
            except KeyError as error:
                sys.exit(
                    f"line {number} has no {error}: articles come with the paired file, scores with expert_annotations"
                )
            articles[name] = {
                "instance_id": name,
                "dataset": given.dataset or f"summeval-{given.aspect}",
                "source": text,
            }
            if points:
                scores.setdefault(name, {})[model] = fmean(points)
    for name, article in articles.items():
        record = {**article, "generations": generations[name], "gold": {"scores": scores.get(name, {})}}
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
