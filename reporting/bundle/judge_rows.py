"""A judge's verdicts in a bundle, by the rules of `judging.outcomes.judgments`. No models."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.juries import JuryUnits, jury_verdicts, member_table, vote_counts
from analysis.logic import averaged_verdict
from analysis.types import BoolArray, FloatArray, IntArray, Outcomes, Verdict
from annotation.studies.rated_pairs import RatedPairs
from reporting.bundle.opening import Bundle
from reporting.bundle.structure import SelectedRows, Structure, integers
from reporting.core.raters import JudgeRater, Positions, rater
from reporting.core.votes import by_position
from reporting.core.wordings import JudgeSettings

JURY = "jury"
STATUSES = {"pending": "pending", "parsed": "parsed", "unparsed": "unparsed", "refused": "refused", "error": "errors"}
PENDING, PARSED, UNPARSED, ERROR = 0, 1, 2, 4  # places in `STATUSES`
ORDERS = {"ab": 1.0, "ba": 0.0, "": 1.0}  # whether A is shown first; of juries, which are made again, empty


class JudgeRows:
    """A judge's presentations, sorted by pair and then with A first; the latest outcome of each."""

    def __init__(self, settings: Mapping[str, Any], cells: FloatArray) -> None:
        self.settings = settings
        self.name = f"judge:{settings['name']}"
        self.cells = cells

    def on(self, one: SelectedRows, structure: Structure) -> JudgeRater | None:
        """Return the judge as a rater of a selection; None where it was asked nothing."""
        here = self._here(one, structure)
        status = integers(here[3])
        if not len(status):
            return None
        asked = here[:, status != PENDING]
        counts = np.bincount(status, minlength=len(STATUSES)).tolist()
        ordered = asked if self.settings["method"] != JURY else asked[:, :0]  # a jury's verdicts are on pairs
        shown = one.instance[integers(ordered[1])]
        positions = Positions(shown, by_position(ordered[4], ordered[2] > 0))
        pairs = np.bincount(one.instance[one.instance >= 0], minlength=len(one.matchup))
        found = rater(self.name, "judge", self.verdicts_on(one, structure), positions, {}, pairs=pairs)
        by_name = dict(zip(STATUSES.values(), counts, strict=True))
        pending = by_name.pop("pending")
        return JudgeRater(found, {"asked": asked.shape[1], **by_name, "pending": pending}, self.settings["family"])

    def by_pair(self) -> tuple[IntArray, FloatArray]:
        """Return the pairs that it was asked about, ascending, and one verdict for each."""
        first = np.flatnonzero(np.append(True, np.diff(self.cells[1]) != 0)[: self.cells.shape[1]])
        return integers(self.cells[1][first]), self._one_each(self.cells, first)

    def verdicts_on(self, one: SelectedRows, structure: Structure) -> RatedPairs:
        """Return one verdict for each pair of a selection; NaN where a presentation lacks one."""
        here = self._here(one, structure)
        first = np.append(True, np.diff(here[1]) != 0)[: here.shape[1]]
        verdict = self._one_each(here, np.flatnonzero(first))
        pair = integers(here[1][first])
        n = len(pair)
        zeros, unknown = np.zeros(n, dtype=np.int64), np.full(n, np.nan)
        return RatedPairs(
            Outcomes(one.instance[pair], structure.index[pair], zeros, zeros + 1, verdict, zeros),
            first_is_a=here[2][first],
            raters=(self.name,) if n else (),
            chance=one.chance[one.instance[pair]],
            seconds=unknown,
            shown=unknown,
            strength=unknown,
            tie_kind=zeros,
        )

    def _here(self, one: SelectedRows, structure: Structure) -> FloatArray:
        pair = integers(self.cells[1])
        rows = np.flatnonzero(one.instance[pair] >= 0)
        rows = rows[np.lexsort((structure.index[pair[rows]], one.instance[pair[rows]]))]
        return self.cells[:, rows]

    def _one_each(self, here: FloatArray, first: IntArray) -> FloatArray:
        in_both: BoolArray = np.append(np.diff(first), here.shape[1] - first[-1:]) == 2
        second = np.where(in_both, first + 1, first)
        both = self.settings["order"] == "both"
        if both and self.settings["combine"] == "probability":
            p_b = np.where(here[3] == PARSED, here[5], np.nan)
            return averaged_verdict(np.where(in_both, p_b[first], np.nan), np.where(in_both, p_b[second], np.nan))
        one, other = here[4][first], here[4][second]
        missing = np.isnan(one) | np.isnan(other) | (~in_both if both else False)
        return np.where(missing, np.nan, np.where(one == other, one, float(Verdict.TIE)))


def read_judge_settings(bundle: Bundle) -> dict[int, JudgeSettings]:
    """Read what of each judge stands beside its numbers, by primary key."""
    endpoints = {row["id"]: row for row in bundle.rows("records/endpoint")}
    prompts = {row["id"]: f"{row['name']}.v{row['version']}" for row in bundle.rows("records/promptfile")}
    found = {}
    for row in bundle.rows("records/judge"):
        endpoint = endpoints.get(row["endpoint"])
        found[row["id"]] = JudgeSettings(
            name=row["name"],
            method=row["method"],
            params=row["params"],
            endpoint=endpoint["name"] if endpoint else None,
            model=endpoint["model"] if endpoint else "",
            wording=prompts.get(row["prompt_file"], row["task"]),
        )
    return found


def jury_rows(
    settings: Mapping[str, Any], judges: Mapping[str, JudgeRows], voted: FloatArray, structure: Structure
) -> JudgeRows:
    """Return a jury, made of its members; voted : (2, n) place of the pair and verdict of people's first votes."""
    members = [judges[name] for name in settings["params"]["members"] if name in judges]
    said = [member.by_pair() for member in members]
    pair, votes = member_table([key for key, _ in said], [verdict for _, verdict in said])
    counts = vote_counts(pair, integers(voted[0]), voted[1])
    matchup = structure.pair_matchup[pair]
    units = JuryUnits(votes, counts, structure.instance[matchup], structure.key_codes[matchup])
    verdict = jury_verdicts(units, settings["params"]["rule"])
    heard = np.zeros(len(pair), dtype=np.int64)  # 0: no member was asked yet, 1: no one asked has answered, 2: one has
    for member in members:
        at, status = np.searchsorted(pair, integers(member.cells[1])), member.cells[3]
        np.maximum.at(heard, at, np.where(status == PENDING, 0, np.where(status == ERROR, 1, 2)))
    status = np.where(np.isnan(verdict), np.choose(heard, (PENDING, ERROR, UNPARSED)), PARSED)
    unknown = np.full(len(pair), np.nan)
    return JudgeRows(settings, np.stack([unknown, pair, np.ones(len(pair)), status, verdict, unknown, unknown]))
