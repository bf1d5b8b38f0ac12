"""A table of a study's people, with flags for an admin."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from analysis.intervals.analytic import Spread, ratio_spreads
from analysis.intervals.bootstrap import mean_rows, ratio
from analysis.ranking.bradley_terry import fit_win_matrices, rating
from analysis.ranking.comparisons import WinMatrix
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.estimates import Basis, Estimate, mean_of_spread, number, share_of_spread
from reporting.findings.data.inputs import Checks, Filters, StudyData
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.measures.rater_findings import TIE_IN_CONSISTENCY, TIE_IN_POSITIONS
from reporting.findings.reasons import (
    NO_CHECKS,
    NO_PREFERENCE,
    NO_RATING_SETS,
    NO_SECONDS,
    NOBODY_BESIDE,
    NOBODY_ELSE,
    NOT_CONNECTED,
)

BLOCK_CELLS = 2**20  # of win matrices that are fitted together
EQUAL = 1e-9  # values that differ by less share a rank


def influences(votes: VoteTable) -> list[dict[str, Any]]:
    """Return, for each person, the largest change of a system's win rate, Bradley-Terry rating and rank without them.

    A change is the value without the person less that with them. Ratings are on Elo's scale, where more than two
    systems are compared; ranks are those of the ratings, and of the win rates of two systems.
    """
    n = len(votes.systems)
    total = _matrices(votes, np.zeros(len(votes.person), dtype=np.int64), 1)
    fits = fit_win_matrices(total) if n > 2 else None
    results: list[dict[str, Any]] = []
    for own in _by_person(votes):
        without_own = WinMatrix(total.won - own.won, total.tied - own.tied)
        rates = _changes(_win_rates(without_own), _win_rates(total), votes.systems, NOBODY_ELSE)
        if fits is None:
            ranks = _rank_changes(_win_rates(without_own), _win_rates(total), votes.systems, "win_rate", NOBODY_ELSE)
            results += [{"win_rate": rate, "rank": rank} for rate, rank in zip(rates, ranks, strict=True)]
            continue
        without = fit_win_matrices(without_own)
        same = (without.component == fits.component).all(axis=1)
        before, after = rating(fits.strengths), np.where(same[:, np.newaxis], rating(without.strengths), np.nan)
        strengths = _changes(after, before, votes.systems, NOT_CONNECTED)
        ranks = _rank_changes(after, before, votes.systems, "bradley_terry", NOT_CONNECTED, fits.component)
        results += [
            {"win_rate": rate, "bradley_terry": strength, "rank": rank}
            for rate, strength, rank in zip(rates, strengths, ranks, strict=True)
        ]
    return results


def _by_person(votes: VoteTable) -> Iterator[WinMatrix]:
    """Yield the win matrices of blocks of persons, in the order of their codes."""
    size = max(1, BLOCK_CELLS // len(votes.systems) ** 2) if votes.systems else 1
    order = np.argsort(votes.person, kind="stable")
    starts = range(0, len(votes.people), size)
    bounds = np.searchsorted(votes.person[order], [*starts, len(votes.people)])
    for block, start in enumerate(starts):
        rows = order[bounds[block] : bounds[block + 1]]
        yield _matrices(votes, votes.person - start, min(size, len(votes.people) - start), rows)


def _matrices(votes: VoteTable, round_: IntArray, rounds: int, rows: IntArray | slice = slice(None)) -> WinMatrix:
    """Sum votes by round: (rounds, n, n)."""
    n = len(votes.systems)
    configuration, verdict, of_round = votes.configuration[votes.unit[rows]], votes.verdict[rows], round_[rows]
    a, b = votes.system_a[configuration], votes.system_b[configuration]

    def summed(first: IntArray, second: IntArray, is_selected: BoolArray) -> FloatArray:
        cells = (of_round * n + first) * n + second
        sums = np.bincount(cells, weights=is_selected, minlength=rounds * n * n)
        return sums.astype(np.float64).reshape(rounds, n, n)

    tied = summed(a, b, verdict == 0)
    return WinMatrix(
        won=summed(a, b, verdict == -1) + summed(b, a, verdict == 1), tied=tied + np.swapaxes(tied, -1, -2)
    )


def _win_rates(matrix: WinMatrix) -> FloatArray:
    return ratio(np.stack([matrix.points.sum(axis=-1), matrix.played.sum(axis=-1)], axis=-1))


def _changes(without: FloatArray, total: FloatArray, systems: tuple[str, ...], why: Reason) -> list[dict[str, Any]]:
    """Return the largest change of a system in each row, and why there is none: a system has no value without them."""
    moved = without - total
    lost: BoolArray = np.any(np.isnan(without) & ~np.isnan(total), axis=1)
    sizes = np.where(np.isnan(moved), -1.0, np.abs(moved).round(12))  # of two mirrored changes the first system's
    largest = sizes.argmax(axis=1).tolist() if systems else []
    return [
        {"change": None, "system": None, **why.as_json()}
        if gone or np.isnan(row[index])
        else {"change": float(row[index]) + 0.0, "system": systems[index]}
        for row, index, gone in zip(moved, largest, lost.tolist(), strict=True)
    ]


def _rank_changes(
    without: FloatArray,
    total: FloatArray,
    systems: tuple[str, ...],
    by: str,
    why: Reason,
    component: IntArray | None = None,
) -> list[dict[str, Any]]:
    together = np.ones((len(systems),) * 2, dtype=bool) if component is None else component == component.T
    changes = _changes(_ranks(without, together), _ranks(total, together), systems, why)
    return [
        {**change, "by": by, "change": None if change["change"] is None else int(change["change"])}
        for change in changes
    ]


def _ranks(values: FloatArray, together: BoolArray) -> FloatArray:
    """(rounds, n) one more than the number of better systems among those that compare, or NaN for one without a value."""
    better = (values[:, np.newaxis, :] > values[:, :, np.newaxis] + EQUAL) & together
    return np.where(np.isnan(values), np.nan, 1.0 + better.sum(axis=2))


TIE_IN_AGREEMENT = "a tie agrees with a tie only"
SIDES = {"left": -1, "tie": 0, "right": 1}
MIN_VOTES = 10  # fewer show no pattern
MIN_COMPARED = 20  # votes beside others', for the comparison with chance
QUICK_SECONDS = 2.0  # on a pair, median
QUICK_WORDS = 1500.0  # words a minute: some five times what people read
CHARACTERS_PER_WORD = 6.0  # with the blank; so the limit is 9,000 characters a minute in any script
# What a flag says of its numbers, which are those of its evidence.
FLAGS: dict[str, str] = {
    "always_left": "All %(preferences)s preferences are for the text on the left, whichever system’s it was.",
    "always_right": "All %(preferences)s preferences are for the text on the right, whichever system’s it was.",
    "alternating": "All %(votes)s ratings alternate between left and right.",
    "all_ties": "All %(votes)s ratings are ties.",
    "quick_pairs": "%(seconds)s s a pair (median of %(timed)s), less than %(limit)s s.",
    "quick_reading": "%(words)s words a minute (%(timed)s pairs); reading is not possible above %(limit)s.",
    "agreement": (
        "Agrees with %(agreement)s of the others’ ratings, where %(chance)s would by chance, and less than people do "
        "among themselves (%(people)s)."
    ),
}
FORMATS = {"seconds": ".1f", "words": ".0f", "limit": "g", "agreement": ".3f", "chance": ".3f", "people": ".3f"}


def raters_table(data: StudyData, votes: VoteTable, filters: Filters) -> list[dict[str, Any]]:
    """Return one row per person who voted, in the order of their codes."""
    other_votes = _others(votes)
    agreeing = other_votes[np.arange(len(votes.person)), votes.place]  # NaN without another person
    people = float(np.nanmean(agreeing)) if not np.isnan(agreeing).all() else np.nan
    sets = _consistencies(data, votes, filters)
    moved, cluster = influences(votes), votes.cluster[votes.unit]
    directed = [votes.directed(shares, votes.unit) for shares in (np.eye(3)[votes.place], other_votes)]
    share_left = np.where(votes.on_left == 0, np.nan, (1 - votes.on_left) / 2)
    agreements, left_shares = (
        ratio_spreads(mean_rows(values), cluster, votes.person, len(votes.people)) for values in (agreeing, share_left)
    )
    results = []
    ends = np.cumsum(np.bincount(votes.person, minlength=len(votes.people)))
    rows_of_people = np.split(np.argsort(votes.person, kind="stable"), ends)[: len(votes.people)]
    for person, rows in enumerate(rows_of_people):
        if not len(rows):
            continue
        code = votes.people[person]
        n_sets, incomplete, consistency = sets[person]
        alone = int(np.isnan(agreeing[rows]).sum())
        basis = Basis(len(agreeing[rows]) - alone, "ratings beside others'", TIE_IN_AGREEMENT, alone, NOBODY_BESIDE)
        agreement = mean_of_spread(agreements[person], basis, filters.intervals)
        speed = _speed(votes.seconds[rows], votes.characters[votes.unit[rows]])
        sided = rows[~np.isnan(votes.on_left[rows])]  # the others' sides are not known
        on_left = votes.on_left[sided]
        chance = _by_chance(*([way[rows] for way in votes.both_ways(shares)] for shares in directed))
        results.append(
            {
                "rater": code,
                "scripted": code in data.scripted,
                "ratings": len(rows),
                "rating_sets": n_sets,
                "incomplete_rating_sets": incomplete,
                "consistency": consistency,
                "agreement": {**agreement, "by_chance": number(chance)},
                "sides": {name: int((on_left == side).sum()) for name, side in SIDES.items()},
                "left_share": _left_share(left_shares[person], on_left, filters),
                **speed,
                "gold": _checks(data.checks.get(code)),
                "influence": moved[person],
                "flags": _flags(votes, rows, sided, speed, agreement, chance, people),
            }
        )
    return results


def _others(votes: VoteTable) -> FloatArray:
    """(n, 3) share of the other people who gave each verdict on the vote's pair, or NaN without another."""
    counts = votes.class_counts[votes.unit].astype(np.float64)
    counts[np.arange(len(counts)), votes.place] -= 1
    sizes = counts.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(counts, sizes, out=np.full_like(counts, np.nan), where=sizes > 0)
    return shares


def _by_chance(own: list[FloatArray], others: list[FloatArray]) -> float:
    """Return the agreement of as many votes of each kind, were they given without a look at the pair; tables of `both_ways`."""
    has_others = ~np.isnan(others[0][:, 0])
    if not has_others.any():
        return np.nan
    means = (np.mean([way[has_others] for way in ways], axis=(0, 1)) for ways in (own, others))
    return float(np.dot(*means))


def _left_share(spread: Spread, on_left: FloatArray, filters: Filters) -> Estimate:
    ties = int((on_left == 0).sum())
    basis = Basis(len(on_left) - ties, "preferences", TIE_IN_POSITIONS, ties, NO_PREFERENCE)
    return share_of_spread(spread, basis, filters.intervals)


def _speed(seconds: FloatArray, characters: FloatArray) -> dict[str, Any]:
    """Return the median time on a pair, and the words that would have been read in all of the time."""
    timed = ~np.isnan(seconds)
    if not timed.any():
        why = {f"seconds_{name}": value for name, value in NO_SECONDS.as_json().items()}
        return {"seconds_median": None, "words_per_minute": None, "timed": 0, **why}
    total = float(seconds[timed].sum())
    read = float(characters[timed].sum()) / CHARACTERS_PER_WORD
    return {
        "seconds_median": float(np.median(seconds[timed])),
        "words_per_minute": number(60 * read / total) if total > 0 else None,
        "timed": int(timed.sum()),
    }


def _checks(checks: Checks | None) -> dict[str, Any]:
    """Return the results on hidden checks of the whole study. Shares are `null` where none was answered."""
    if checks is None:
        return {"share": None, "repeat_share": None, **NO_CHECKS.as_json()}
    return {
        "share": checks.gold_right / checks.gold_asked if checks.gold_asked else None,
        "repeat_share": checks.repeat_same / checks.repeat_asked if checks.repeat_asked else None,
        **asdict(checks),
    }


def _consistencies(data: StudyData, votes: VoteTable, filters: Filters) -> list[tuple[int, int, Estimate]]:
    """Return each person's number of rating sets in use, of incomplete ones, and the mean consistency of those in use."""
    number_of = {code: index for index, code in enumerate(votes.people)}
    n = len(votes.people)
    people, clusters = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    values = [np.zeros(0)]
    incomplete, left_out = (np.zeros(n, dtype=np.int64) for _ in range(2))
    for configuration, codes in zip(data.configurations, votes.instances, strict=True):
        of_study = np.array([number_of[code] for code in configuration.people.rated.raters], dtype=np.int64)
        every = of_study[configuration.people.every.rater]
        incomplete += np.bincount(every[configuration.people.every.incomplete], minlength=n)
        left_out += np.bincount(every[~configuration.people.in_use], minlength=n)
        people.append(of_study[configuration.people.sets.rater])
        clusters.append(filters.intervals.cluster(codes[configuration.people.sets.instance]))
        values.append(configuration.people.consistency)
    person = np.concatenate(people)
    sets = np.bincount(person, minlength=n).tolist()
    spreads = ratio_spreads(mean_rows(np.concatenate(values)), np.concatenate(clusters), person, n)
    bases = (
        Basis(n, "rating sets", TIE_IN_CONSISTENCY, out, NO_RATING_SETS)
        for n, out in zip(sets, left_out.tolist(), strict=True)
    )
    means = (mean_of_spread(spread, basis, filters.intervals) for spread, basis in zip(spreads, bases, strict=True))
    return list(zip(sets, incomplete.tolist(), means, strict=True))


def _flags(
    votes: VoteTable,
    rows: IntArray,
    sided: IntArray,
    speed: dict[str, Any],
    agreement: Estimate,
    chance: float,
    people: float,
) -> list[dict[str, Any]]:
    """Return the flags of one person, each with its evidence.

    rows, sided : of the person's votes in the order of display, all and those whose sides are known
    agreement : with the others; chance : what it would be by chance; people : that of everyone
    """
    on_left = votes.on_left[sided]
    preferred = on_left[on_left != 0]
    # Only where both orders were shown: else a side is a system, and to prefer one is no fault.
    is_sided = len(preferred) >= MIN_VOTES and len(np.unique(votes.a_is_left[sided][on_left != 0])) == 2
    seconds, words, timed = (speed[name] for name in ("seconds_median", "words_per_minute", "timed"))
    is_quick = timed >= MIN_VOTES and seconds is not None and seconds < QUICK_SECONDS
    is_unread = timed >= MIN_VOTES and words is not None and words > QUICK_WORDS
    # No better than chance, and surely worse than people are among themselves: a hard task alone is no reason.
    is_apart = agreement["n"] >= MIN_COMPARED and agreement["high"] is not None
    is_apart = is_apart and not (agreement["value"] > chance or agreement["high"] >= people)
    shares = {"agreement": agreement["value"], "high": agreement["high"], "chance": chance, "people": people}
    alternates = len(on_left) >= MIN_VOTES and on_left.all() and (on_left[1:] != on_left[:-1]).all()
    flags: dict[str, tuple[bool | np.bool, dict[str, Any]]] = {
        "always_left": (is_sided and (preferred == -1).all(), {"preferences": len(preferred)}),
        "always_right": (is_sided and (preferred == 1).all(), {"preferences": len(preferred)}),
        "alternating": (alternates, {"votes": len(on_left)}),
        "all_ties": (len(rows) >= MIN_VOTES and not votes.verdict[rows].any(), {"votes": len(rows)}),
        "quick_pairs": (is_quick, {"seconds": seconds, "limit": QUICK_SECONDS, "timed": timed}),
        "quick_reading": (is_unread, {"words": words, "limit": QUICK_WORDS, "timed": timed}),
        "agreement": (is_apart, {**shares, "votes": agreement["n"]}),
    }
    return [
        {"flag": name, "evidence": {**evidence, "at_least": MIN_COMPARED if name == "agreement" else MIN_VOTES}}
        for name, (holds, evidence) in flags.items()
        if holds
    ]


def flag_text(flag: Mapping[str, Any]) -> str:
    """Say a flag with its numbers."""
    evidence = {name: f"{value:{FORMATS.get(name, '')}}" for name, value in flag["evidence"].items()}
    return str(FLAGS[flag["flag"]]) % evidence
