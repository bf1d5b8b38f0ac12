"""What a bundle's study compares: systems, instances, pairs, the HITs that they stand on, and what of it findings cover. No models."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from sys import intern
from typing import Any

import numpy as np

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.columns import places
from annotation.questions.questions import Question
from annotation.studies.gold import gold_verdict
from annotation.studies.instance_tags import tags_of
from reporting.bundle.layout import BadBundle
from reporting.bundle.opening import Bundle
from reporting.core.instance_selection import caveat_rows
from reporting.findings.data.inputs import Compared, ComparedSystem, Pairs

Key = tuple[str, int, int]  # of a configuration: data set, A, B
RATING, DRAFT = "rating", "draft"  # of a batch: its purpose, its status


def questions_of(bundle: Bundle) -> tuple[Question, ...]:
    """Return the questions of a bundle's study."""
    return tuple(Question(**one) for one in bundle.study["questions"])


def integers(values: FloatArray) -> IntArray:
    """Return whole numbers, -1 for missing ones."""
    return np.where(np.isnan(values), -1, values).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """The matchups and pairs of a configuration that findings cover.

    matchup  : (n_instances,) in the order of the instances
    instance : (all pairs of the study,) the place of the pair's instance here; -1 of those that are not selected
    of_here  : (all pairs of the study,) whether the pair is of the configuration at all
    """

    key: Key
    compared: Compared
    matchup: IntArray
    instance: IntArray
    of_here: BoolArray
    chance: FloatArray
    chosen: list[dict[str, Any]]


class Structure:
    """What was compared: systems, instances, pairs, and the HITs that they stood on."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        systems = {row["id"]: row for row in bundle.rows("records/system")}
        self.systems = {pk: ComparedSystem(row["name"], row["family"]) for pk, row in systems.items()}
        lengths = self._read_instances()
        self.matchup, instance, self.system_a, self.system_b = integers(
            bundle.numbers_in("records/matchup", "id", "instance", "system_a", "system_b")
        )
        by_key = np.argsort(self.instance_pk)
        self.instance = by_key[places(self.instance_pk[by_key], instance)]  # of each matchup, its place
        self.pair, of_matchup, self.index, self.text_a, self.text_b = integers(
            bundle.numbers_in("records/pair", "id", "matchup", "index", "generation_a", "generation_b")
        )
        self.pair_matchup = places(self.matchup, of_matchup)
        self.length_a, self.length_b = bundle.numbers_in("pairs", "length_a", "length_b")
        self._check_lengths(lengths)
        del lengths  # the largest of all that is read
        self.batches = sorted(bundle.rows("records/batch"), key=lambda row: (row["created_at"], row["id"]))
        hits = bundle.numbers_in("records/hit", "id", "batch", "matchup", "inclusion_probability")
        self.hit, self.hit_batch, hit_matchup = map(integers, hits[:3])
        self.hit_matchup, self.hit_chance = places(self.matchup, hit_matchup), hits[3]
        on_hits = bundle.numbers_in("records/hitpair", "hit", "pair", "position")
        order = np.lexsort((on_hits[2], on_hits[0]))
        self.on_hit, on_pair = (integers(column)[order] for column in on_hits[:2])
        self.on_pair = places(self.pair, on_pair)  # places, as all that follow

    def _read_instances(self) -> dict[tuple[str, str, int], int]:
        """Read the names of the instances, their gold and tags; return the lengths of their texts."""
        self.instance_pk = integers(self.bundle.numbers_in("records/instance", "id"))[0]
        self.instance_ids: list[str] = []
        self.datasets: list[str] = []
        self.gold: list[dict[str, Any] | None] = []
        self.tags: list[tuple[str, ...]] = []
        lengths: dict[tuple[str, str, int], int] = {}
        for row in self.bundle.rows("instances"):
            self.instance_ids.append(row["instance_id"])
            self.datasets.append(row["dataset"])
            self.gold.append(row["gold"])
            self.tags.append(tags_of(row["metadata"]))
            for system, texts in row["generations"].items():
                for number, text in enumerate(texts):
                    if text is not None:
                        lengths[row["instance_id"], intern(system), number] = len(text)
        if len(self.instance_ids) != len(self.instance_pk):
            raise BadBundle("instances and records/instance have different numbers of rows")
        return lengths

    def _check_lengths(self, lengths: dict[tuple[str, str, int], int]) -> None:
        """Compare the lengths of pairs with the texts, where they are there.

        Raises: BadBundle naming a pair.
        """
        if not lengths:
            return
        for row in self.bundle.rows("pairs"):
            for side in ("a", "b"):
                text = (row["instance_id"], row[f"system_{side}"], row[f"generation_{side}_index"])
                if lengths.get(text) != row[f"length_{side}"]:
                    raise BadBundle(
                        f"pairs: the length of generation {text[2]} of {text[1]} for {text[0]} is not that of its text"
                    )

    @cached_property
    def rated(self) -> list[dict[str, Any]]:
        """The batches whose ratings enter findings: as `BatchQuerySet.for_rating` has them, in their order."""
        return [one for one in self.batches if one["purpose"] == RATING and one["status"] != DRAFT]

    @cached_property
    def rated_batches(self) -> IntArray:
        """Primary keys of `rated`."""
        return _keys(self.rated)

    @cached_property
    def is_free(self) -> BoolArray:
        """(n_matchups,) whether a matchup is not only on HITs of qualifications and gold checks."""
        rated, checks = (np.zeros(len(self.matchup), dtype=bool) for _ in range(2))
        is_rated = np.isin(self.hit_batch, _keys(one for one in self.batches if one["purpose"] == RATING))
        rated[self.hit_matchup[is_rated]] = True
        checks[self.hit_matchup[~is_rated]] = True
        return rated | ~checks

    @cached_property
    def keys(self) -> list[Key]:
        """The configuration of each matchup."""
        named = zip(self.instance.tolist(), self.system_a.tolist(), self.system_b.tolist(), strict=True)
        return [(self.datasets[instance], a, b) for instance, a, b in named]

    @cached_property
    def code_of(self) -> dict[Key, int]:
        """A number for each configuration."""
        return {key: code for code, key in enumerate(dict.fromkeys(self.keys))}

    @cached_property
    def key_codes(self) -> IntArray:
        """(n_matchups,) the number of each matchup's configuration."""
        return np.array([self.code_of[key] for key in self.keys], dtype=np.int64)

    @cached_property
    def covered(self) -> list[Key]:
        """The configurations that findings cover, in their order."""
        found = {key for key, free in zip(self.keys, self.is_free.tolist(), strict=True) if free}
        return sorted(found, key=lambda key: (key[0], self.systems[key[1]].name, self.systems[key[2]].name))

    def batches_of(self, key: Key) -> list[dict[str, Any]]:
        """Return a configuration's batches for rating."""
        return [one for one in self.rated if (one["dataset"], one["system_a"], one["system_b"]) == key]

    @cached_property
    def selections(self) -> list[SelectedRows]:
        """The selection of each covered configuration: the pairs on its HITs for rating, without a batch all pairs."""
        on_rated = np.zeros(len(self.pair), dtype=bool)
        rated_hits = self.hit[np.isin(self.hit_batch, self.rated_batches)]
        on_rated[self.on_pair[np.isin(self.on_hit, rated_hits)]] = True
        return [self._selection(key, on_rated, bool(self.batches_of(key))) for key in self.covered]

    def unplaced(self, keys: Iterable[Key]) -> list[SelectedRows]:
        """Return the selections of instances that stand on no HIT for rating."""
        placed = np.zeros(len(self.matchup), dtype=bool)
        placed[self.hit_matchup[np.isin(self.hit_batch, self.rated_batches)]] = True
        return [self._selection(key, ~placed[self.pair_matchup], False, ~placed) for key in keys]

    def _selection(self, key: Key, pairs: BoolArray, has_batch: bool, among: BoolArray | None = None) -> SelectedRows:
        is_of = self.key_codes == self.code_of[key]
        of_here = is_of[self.pair_matchup]
        chosen = np.zeros(len(self.matchup), dtype=bool)
        if has_batch:
            taken = of_here & pairs
            chosen[self.pair_matchup[taken]] = True
        else:
            chosen = is_of & self.is_free & (True if among is None else among)
            taken = of_here & chosen[self.pair_matchup]
        listed = self._listed(chosen)
        place = np.full(len(self.matchup), -1)
        place[listed] = np.arange(len(listed))
        return SelectedRows(
            key,
            Compared(key[0], self.systems[key[1]], self.systems[key[2]]),
            listed,
            np.where(taken, place[self.pair_matchup], -1),
            of_here,
            self._chances(listed),
            self.caveats(self.batches_of(key)),
        )

    def caveats(self, batches: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return how the instances of batches were selected, where that needs a caveat."""
        hits = {one["id"]: int((self.hit_batch == one["id"]).sum()) for one in batches}
        return [row for one in batches for row in caveat_rows(one["name"], one["selection"], hits[one["id"]])]

    def free_of(self, key: Key) -> IntArray:
        """Return all matchups of a configuration but those for checks only, in the order of the instances."""
        return self._listed((self.key_codes == self.code_of[key]) & self.is_free)

    def _listed(self, chosen: BoolArray) -> IntArray:
        listed = np.flatnonzero(chosen)
        return listed[np.argsort(self.instance[listed], kind="stable")]

    def _chances(self, matchups: IntArray) -> FloatArray:
        rated = np.isin(self.hit_batch, self.rated_batches)
        known: dict[int, set[float | None]] = {}
        for matchup, chance in zip(self.hit_matchup[rated].tolist(), self.hit_chance[rated].tolist(), strict=True):
            known.setdefault(matchup, set()).add(None if np.isnan(chance) else chance)
        agreed = [known.get(matchup, {None}) for matchup in matchups.tolist()]
        return np.array([next(iter(one)) if len(one) == 1 else None for one in agreed], dtype=np.float64)

    def pairs_in(self, one: SelectedRows) -> Pairs:
        """Return what is known of the selected pairs of a configuration."""
        rows = np.flatnonzero(one.instance >= 0)
        rows = rows[np.lexsort((self.index[rows], one.instance[rows]))]
        names = (one.compared.system_a.name, one.compared.system_b.name)
        gold = [gold_verdict(self.gold[self.instance[matchup]], *names) for matchup in one.matchup.tolist()]
        of_instance = np.array([np.nan if verdict is None else verdict for verdict in gold], dtype=np.float64)
        codes = one.instance[rows]
        return Pairs(codes, self.index[rows], self.length_a[rows], self.length_b[rows], of_instance[codes])

    def expected(self, pair: int) -> int | None:
        """Return the verdict that the gold names for a pair, by its place."""
        matchup = int(self.pair_matchup[pair])
        a, b = (self.systems[int(of[matchup])].name for of in (self.system_a, self.system_b))
        return gold_verdict(self.gold[self.instance[matchup]], a, b)


def _keys(rows: Iterable[dict[str, Any]]) -> IntArray:
    return np.array([one["id"] for one in rows], dtype=np.int64)
