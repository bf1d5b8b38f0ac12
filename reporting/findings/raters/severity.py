"""How far each person deviates from the others on the same pairs: towards a side, ties, or one of two systems."""

from typing import Any

import numpy as np

from analysis.agreement.severity import severity
from analysis.intervals.jackknife import MIN_CLUSTERS, Bounds
from analysis.types import FloatArray
from reporting.core.estimates import Basis, Estimate, IntervalSettings, estimate_with_bounds, number
from reporting.core.reasons import NO_SPREAD, TOO_FEW
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.reasons import NO_COMMON_VOTES, NOBODY_BESIDE

TIE_AS_HALF = "a tie is half a preference for each"
TIE_COUNTED = "a tie is 1, a preference 0"


def rater_severity(votes: VoteTable, settings: IntervalSettings) -> dict[str, Any]:
    """Return each person's deviations by their kind, and how far people differ in each.

    Deviations are differences of shares: of preferences for the left text, of ties, and of preferences for `toward`, the first
    of two systems; `null` where there are more.
    """
    kinds: dict[str, tuple[FloatArray, FloatArray | None, str]] = {
        "left": (votes.verdict / 2, 1 - 2 * votes.a_is_left, TIE_AS_HALF),
        "ties": ((votes.verdict == 0).astype(np.float64), None, TIE_COUNTED),
    }
    toward = votes.systems[0] if len(votes.systems) == 2 else None
    if toward is not None:
        direction = np.where(votes.system_a == 0, -1, 1)[votes.configuration[votes.unit]]
        kinds["system"] = direction * votes.verdict / 2, None, TIE_AS_HALF
    severities = {kind: _kind(votes, *columns, settings) for kind, columns in kinds.items()}
    raters = [
        {"rater": name, **{kind: rows[code] for kind, (rows, _) in severities.items()}}
        for code, name in enumerate(votes.people)
        if any(rows[code]["n"] for rows, _ in severities.values())
    ]
    between = {kind: spread for kind, (_, spread) in severities.items()}
    return {"toward": toward, "raters": raters, "between": between, **({} if raters else NO_COMMON_VOTES.as_json())}


def _kind(
    votes: VoteTable, values: FloatArray, sign: FloatArray | None, rule: str, settings: IntervalSettings
) -> tuple[list[Estimate], dict[str, Any]]:
    level, n, cluster = settings.level, len(votes.people), votes.cluster[votes.unit]
    severities = severity(values, votes.unit, votes.person, cluster, sign=sign, n_raters=n, level=level)
    columns = (
        np.bincount(votes.person, minlength=n),
        severities.compared,
        severities.clusters,
        severities.shrunk,
        severities.low,
        severities.high,
    )
    rows = []
    for (cast, compared, clusters, *limits), deviation in zip(
        np.stack(columns, axis=1).tolist(), severities.deviation, strict=True
    ):
        few = TOO_FEW.with_values(of=settings.unit, least=MIN_CLUSTERS)
        why = NOBODY_BESIDE if not compared else few if clusters < MIN_CLUSTERS else NO_SPREAD
        basis = Basis(int(compared), "ratings beside others'", rule, int(cast - compared), why)
        rows.append({**_estimate(limits, basis, settings, int(clusters)), "deviation": number(float(deviation))})
    raters = int((~np.isnan(severities.shrunk)).sum())
    limits = [severities.spread, severities.spread_low, severities.spread_high]
    spread = _estimate(limits, Basis(raters, "raters", rule, n - raters, NO_SPREAD), settings, len(np.unique(cluster)))
    return rows, {"spread": spread, "p_value": number(severities.p_value)}


def _estimate(limits: list[float], basis: Basis, settings: IntervalSettings, clusters: int) -> Estimate:
    value, low, high = limits
    bounds = Bounds(low, high, settings.level, clusters)
    return estimate_with_bounds(value, bounds, basis, settings, clusters, minimum=MIN_CLUSTERS)
