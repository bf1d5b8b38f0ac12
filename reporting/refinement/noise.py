"""How much noise a repair takes back: preferences are turned around at random, repaired, and compared with the original."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.refinement import Method, repair
from analysis.types import BoolArray, FloatArray
from reporting.core.charts import (
    Spec,
    build_spec,
    empty_chart,
    interval_and_point,
    quantity,
    series_encoding,
    with_ends,
)
from reporting.core.themes import THEMES
from reporting.core.units import counted_in_english as count
from reporting.logic.preferences import Preferences

RANGE = (2.5, 97.5)  # percentiles of the draws
SERIES = {"noisy": "right before the repair", "repaired": "right after it", "coverage": "with a repaired preference"}
NOTHING = "no preference"


def noise_curve(
    given: Preferences, flips: Sequence[float], *, draws: int, seed: int = 0, method: Method = "win_loss"
) -> dict[str, Any]:
    """Turn a share of the preferences around, repair the rest with them, and compare with what was given.

    flips   : shares in [0, 1] of preferences that are turned around, each with this chance
    draws   : repetitions for each share; draw n has the seed (seed, n), whatever the share
    returns : for each share the mean over draws, with the range of 95 % of them, of three shares of the preferences given:
              `noisy`, those that were left as they are; `repaired`, those that the ranking implies, of those of which it
              implies either direction; `coverage`, the share of these
    """
    won, lost, n_items = given.winners, given.losers, len(given.generation)
    rows = []
    for share in flips:
        found = np.full((draws, len(SERIES)), np.nan)
        for draw in range(draws):
            turned = np.random.default_rng((seed, draw)).random(len(won)) < share
            noisy = np.where(turned, lost, won), np.where(turned, won, lost)
            rng = np.random.default_rng((seed, draw, 1))
            repaired = repair(*noisy, n_items=n_items, ties=given.ties, method=method, rng=rng)
            found[draw] = _compared(turned, repaired.outcome)
        rows.append({"flipped": float(share), **{name: _spread(found[:, n]) for n, name in enumerate(SERIES)}})
    return {"method": method, "draws": draws, "seed": seed, "preferences": len(won), "curve": rows}


def noise_chart(found: dict[str, Any], theme: str = "light") -> Spec:
    """Draw the three shares against the share that was turned around."""
    rows = [
        {"series": label, "flipped": row["flipped"], **with_ends("share", row[name])}
        for row in found["curve"]
        for name, label in SERIES.items()
        if row[name]["value"] is not None
    ]
    title = "Preferences turned around and repaired"
    if not rows:
        return empty_chart(title, NOTHING, theme)
    x = {"x": quantity("flipped", "Share turned around", axis={"format": ".0%"})}
    y = quantity("share", "Share of the preferences", scale={"domain": [0, 1]}, axis={"format": ".0%"})
    series = series_encoding("series", None, list(SERIES.values()), THEMES[theme])
    line = {"mark": {"type": "line"}, "encoding": {**x, "y": y, "color": series["color"]}}
    body = {"width": 420, "height": 260, "layer": [line, *interval_and_point(x, y, series, size=60, opacity=1)]}
    caption = f"means and 95 % of {found['draws']} draws over {found['preferences']} preferences"
    return build_spec({"data": {"values": rows}, **body}, [title], [caption], theme)


def as_text(found: dict[str, Any]) -> str:
    """Return the curve as lines."""
    lines = [
        f"{count(found['preferences'], 'preferences')}, {count(found['draws'], 'draws')}, ranked by {found['method'].replace('_', ' ')}"
    ]
    for row in found["curve"]:
        shares = ", ".join(f"{label} {_number(row[name])}" for name, label in SERIES.items())
        lines.append(f"flipped {row['flipped']:.0%}: {shares}")
    return "\n".join(lines)


def _compared(turned: BoolArray, outcome: np.ndarray) -> tuple[float, float, float]:
    """Shares of one draw; `outcome` is of the noisy preferences: 1 kept, -1 reversed, 0 dropped."""
    implied = outcome != 0
    right = np.where(turned, outcome == -1, outcome == 1)
    shares = [(~turned).mean() if len(turned) else np.nan, np.nan, implied.mean() if len(turned) else np.nan]
    if implied.any():
        shares[1] = right[implied].mean()
    return shares[0], shares[1], shares[2]


def _spread(values: FloatArray) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    if not len(known):
        return {"value": None, "low": None, "high": None, "why": NOTHING}
    low, high = np.percentile(known, RANGE).tolist()
    return {"value": float(known.mean()), "low": low, "high": high}


def _number(one: dict[str, Any]) -> str:
    return "—" if one["value"] is None else f"{one['value']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
