"""The accuracy of a study's judges, read from the database and computed."""

from typing import Any

from annotation.models import Study
from judging.outcomes.gold import gold_pairs, judged_gold
from judging.outcomes.gold_arrays import GoldPairs, JudgedGold
from reporting.accuracy.accuracies import accuracies
from reporting.core.judge_settings import settings_of
from reporting.core.wordings import JudgeSettings


def judge_accuracy(study: Study, *, rounds: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Compute every judge's accuracy on every subset of the pairs that have a gold label, as `accuracies`."""
    return accuracies(study.slug, *judges_beside_gold(study), rounds=rounds, seed=seed)


def judges_beside_gold(study: Study) -> tuple[GoldPairs, list[tuple[JudgeSettings, JudgedGold]]]:
    """Read the pairs with gold, and what each judge said of them."""
    gold = gold_pairs(study)
    found = judged_gold(study, gold) if len(gold) else []
    return gold, [(settings_of(judge), judged) for judge, judged in found]
