"""Write ratings.csv: example ratings of study.jsonl by four scripted raters.

No person gave these ratings. They give the pages of a new installation
some data. Standard library only; every random number comes from a fixed
seed, so that each run writes identical bytes.

The rule. A word's key is its first five letters in lower case; names of
speakers and common function words are left out. For one summary:

  covered   keys of the dialogue that the summary mentions, as a share of COVERED_FULL
            (never more than 1)
  ending    share of the keys in the last third of the dialogue's lines that
            the summary mentions
  invented  share of the summary's keys that the dialogue does not have
  length    words beyond LENGTH_FREE, in tens

  value = w_covered * covered + w_ending * ending
          - w_invented * invented - w_length * length

Each scripted rater has its own weights. Seeded noise is added to the
difference between the values of the two summaries of a pair; a difference
smaller than the rater's band is "no preference".

Usage: python rate_by_script.py [--study study.jsonl] [--out ratings.csv]
"""

import argparse
import csv
import json
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEED = 2024
COVERED_FULL = 20
LENGTH_FREE = 40

SYSTEM_A = "heron-2"
SYSTEM_B = "magpie-1"

RATERS = {
    "scripted-1": {
        "covered": 1.0,
        "ending": 1.0,
        "invented": 1.2,
        "length": 0.10,
        "noise": 0.15,
        "band": 0.20,
    },
    "scripted-2": {
        "covered": 1.4,
        "ending": 0.6,
        "invented": 0.8,
        "length": 0.05,
        "noise": 0.25,
        "band": 0.35,
    },
    "scripted-3": {
        "covered": 0.8,
        "ending": 1.4,
        "invented": 1.0,
        "length": 0.10,
        "noise": 0.20,
        "band": 0.30,
    },
    "scripted-4": {
        "covered": 1.2,
        "ending": 0.8,
        "invented": 1.4,
        "length": 0.20,
        "noise": 0.25,
        "band": 0.65,
    },
}

COLUMNS = [
    "study",
    "batch",
    "hit",
    "instance_id",
    "dataset",
    "pair_index",
    "system_a",
    "system_b",
    "generation_a_index",
    "generation_b_index",
    "rater",
    "rater_kind",
    "stage",
    "rating",
    "shown_first",
    "arm",
    "table_variant",
    "reason",
    "active_seconds",
    "wall_seconds",
    "rated_at",
    "late",
    "excluded",
    "exclusion_reason",
    "software_version",
]

FUNCTION_WORD_LIST = """
    a about after all also an and any are as at be because been before but by can could did do does for from
    get had has have he her here him his how i if in into is it its just like may me more my no not of off on one
    or our out put she should since so some than that the their them then there they this though to too until up us
    very was we well were what when where which while who why will with would yes yet you your
"""
FUNCTION_WORDS = frozenset(FUNCTION_WORD_LIST.split())


def keys(text, leave_out=()):
    words = re.findall(r"[^\W_]+", text.lower().replace("'", ""))
    return {w[:5] for w in words if w not in FUNCTION_WORDS and w not in leave_out and len(w) > 1}


class Dialogue:
    def __init__(self, source):
        lines = [line.split(":", 1) for line in source.splitlines() if ":" in line]
        self.speakers = {name.strip().lower() for name, _ in lines}
        spoken = [text for _, text in lines]
        self.keys = keys(" ".join(spoken), self.speakers)
        self.ending = keys(" ".join(spoken[-max(1, len(spoken) // 3) :]), self.speakers)

    def features(self, summary):
        found = keys(summary, self.speakers)
        return {
            "covered": min(1.0, len(found & self.keys) / COVERED_FULL),
            "ending": len(found & self.ending) / len(self.ending),
            "invented": len(found - self.keys) / max(1, len(found)),
            "length": max(0, len(summary.split()) - LENGTH_FREE) / 10,
        }


def value(features, rater):
    return (
        rater["covered"] * features["covered"]
        + rater["ending"] * features["ending"]
        - rater["invented"] * features["invented"]
        - rater["length"] * features["length"]
    )


def rate(dialogue, summary_a, summary_b, rater, rng):
    difference = value(dialogue.features(summary_b), rater) - value(dialogue.features(summary_a), rater)
    difference += rng.gauss(0, rater["noise"])
    if abs(difference) < rater["band"]:
        return 0
    return 1 if difference > 0 else -1


def rows(instances):
    day = datetime(2025, 3, 3, 9, 0, tzinfo=UTC)
    for number, (name, rater) in enumerate(RATERS.items()):
        rng = random.Random(f"{SEED}/{name}")
        order = list(instances)
        rng.shuffle(order)
        total = sum(len(i["generations"][SYSTEM_A]) for i in order)
        sides = (["a", "b"] * (total // 2 + 1))[:total]
        rng.shuffle(sides)
        clock = day + timedelta(days=number, minutes=rng.randint(0, 240))
        for instance in order:
            dialogue = Dialogue(instance["source"])
            texts_a = instance["generations"][SYSTEM_A]
            texts_b = instance["generations"][SYSTEM_B]
            clock += timedelta(seconds=rng.randint(20, 180))
            for j, (text_a, text_b) in enumerate(zip(texts_a, texts_b, strict=True)):
                rating = rate(dialogue, text_a, text_b, rater, rng)
                words = len(text_a.split()) + len(text_b.split())
                if j == 0:
                    words += len(instance["source"].split())
                active = round(words / rng.uniform(3.0, 4.5) + rng.uniform(2, 9), 1)
                pause = rng.uniform(5, 60) if rng.random() < 0.15 else rng.uniform(0, 2)
                wall = round(active + pause, 1)
                clock += timedelta(seconds=wall)
                yield {
                    "study": "example",
                    "batch": "scripted",
                    "hit": f"scripted-{instance['instance_id']}",
                    "instance_id": instance["instance_id"],
                    "dataset": instance["dataset"],
                    "pair_index": j,
                    "system_a": SYSTEM_A,
                    "system_b": SYSTEM_B,
                    "generation_a_index": j,
                    "generation_b_index": j,
                    "rater": name,
                    "rater_kind": "person",
                    "stage": "first",
                    "rating": rating,
                    "shown_first": sides.pop(),
                    "active_seconds": active,
                    "wall_seconds": wall,
                    "rated_at": clock.isoformat(timespec="seconds"),
                    "late": "false",
                    "excluded": "false",
                }


def main():
    parser = argparse.ArgumentParser(description="Write ratings.csv by scripted raters.")
    parser.add_argument("--study", type=Path, default=HERE / "study.jsonl")
    parser.add_argument("--out", type=Path, default=HERE / "ratings.csv")
    options = parser.parse_args()
    with options.study.open(encoding="utf-8") as file:
        instances = [json.loads(line) for line in file if line.strip()]
    with options.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows(instances))


if __name__ == "__main__":
    main()
