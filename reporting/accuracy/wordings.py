"""The accuracy of judges that differ in their wording only, with its spread over wordings."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from reporting.core.wordings import JudgeSettings, sets_of_wordings, spread_over_wordings

Found = dict[str, Any]


def over_wordings(rows: Sequence[Found], judges: Mapping[str, JudgeSettings]) -> list[Found]:
    """Return the accuracy on each subset over the wordings of each judge that has two or more.

    rows   : the judges' rows of `judge_accuracy`; `judges` by name. Those without an endpoint have no wording
    `pairs`: least and most pairs that a wording has answered on; the accuracies are each on its own
    source : The Comparative Trap, table 10, which has one paraphrase
    """

    def alike(row: Found) -> str:
        judge = judges[row["judge"]]
        return "" if judge.endpoint is None else judge.besides_wording

    sets = sets_of_wordings(rows, alike=alike, wording=lambda row: judges[row["judge"]].wording, answers=_answers)
    return [_over(sorted(several, key=itemgetter("judge")), judges) for several in sets]


def _answers(row: Found) -> int:
    return sum(one["accuracy"]["n"] for one in row["subsets"] if one["kind"] == "all")


def _over(rows: Sequence[Found], judges: Mapping[str, JudgeSettings]) -> Found:
    by_subset: dict[tuple[str, str], list[Found]] = {}
    for row in rows:
        for one in row["subsets"]:
            by_subset.setdefault((one["kind"], one["subset"]), []).append(one["accuracy"])
    return {
        "method": rows[0]["method"],
        "model": rows[0]["model"],
        "judges": [{"judge": row["judge"], "wording": judges[row["judge"]].wording} for row in rows],
        "subsets": [
            {
                "kind": kind,
                "subset": subset,
                "pairs": [min(one["n"] for one in several), max(one["n"] for one in several)],
                "accuracy": spread_over_wordings([one["value"] for one in several]),
            }
            for (kind, subset), several in by_subset.items()
        ],
    }
