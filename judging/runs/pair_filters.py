"""Filters for a part of a study's or batch's pairs."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from annotation.core.errors import UnknownName
from annotation.models import Instance, Pair, Study
from annotation.studies.instances import tags_of
from judging.core.errors import BadSettings

MOST_INSTANCES = 20_000  # selected by id or tag; for more, create a batch


@dataclass(frozen=True)
class PairFilter:
    """A filter on a study's pairs. Empty fields don't filter.

    systems   : the two compared, in either order
    tags      : instances with any of these
    instances : instances by id
    off_hits  : also pairs that are on no HIT, where the others are
    on_demand : none of itself: presentations are added to the run as a ranking needs them
    """

    dataset: str = ""
    systems: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    off_hits: bool = False
    on_demand: bool = False

    @property
    def stored(self) -> dict[str, Any]:
        """Its normalised form, as a run stores it."""
        named = {name: sorted(set(getattr(self, name))) for name in ("systems", "tags", "instances")}
        values = {"dataset": self.dataset, **named, "off_hits": self.off_hits, "on_demand": self.on_demand}
        return {name: value for name, value in values.items() if value}

    @property
    def key(self) -> str:
        """A hash of it, unique among a judge's runs, or an empty string if it filters nothing."""
        stored = self.stored
        return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest() if stored else ""

    def within(self, pairs: QuerySet[Pair], study: Study) -> QuerySet[Pair]:
        """Apply it to a study's pairs.

        Raises: UnknownName for a data set, system, tag or instance that the study doesn't have; BadSettings for a single
        system, or too many instances.
        """
        if self.on_demand:
            return pairs.none()
        if self.dataset:
            _require(
                "data set", [self.dataset], study.instances.order_by().values_list("dataset", flat=True).distinct()
            )
            pairs = pairs.filter(matchup__instance__dataset=self.dataset)
        if self.systems:
            if len(set(self.systems)) != 2:
                raise BadSettings(f"a run is about the pairs of two systems; {len(set(self.systems))} are named")
            _require("system", self.systems, study.systems.order_by("position").values_list("name", flat=True))
            first, second = self.systems
            pairs = pairs.filter(
                Q(matchup__system_a__name=first, matchup__system_b__name=second)
                | Q(matchup__system_a__name=second, matchup__system_b__name=first)
            )
        if self.tags:
            by_instance = {pk: tags_of(metadata) for pk, metadata in study.instances.values_list("pk", "metadata")}
            _require("tag", self.tags, {tag for tags in by_instance.values() for tag in tags})
            tagged = [pk for pk, tags in by_instance.items() if not set(self.tags).isdisjoint(tags)]
            _refuse_many(len(tagged))
            pairs = pairs.filter(matchup__instance__in=tagged)
        if self.instances:
            _refuse_many(len(self.instances))
            keys = dict(Instance.objects.filter(study=study).order_by().values_list("instance_id", "pk"))
            if unknown := [name for name in self.instances if name not in keys]:
                more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
                raise UnknownName(f"study {study.slug} has no instance {unknown[0]}{more}")
            pairs = pairs.filter(matchup__instance__in=[keys[name] for name in self.instances])
        return pairs


EVERY_PAIR = PairFilter()
ON_DEMAND = PairFilter(on_demand=True)  # those that were added one by one, as by a ranking or a tuning


def filter_of(stored: Mapping[str, Any]) -> PairFilter:
    """Return the filter that a run has stored."""
    return PairFilter(
        dataset=stored.get("dataset", ""),
        off_hits=stored.get("off_hits", False),
        on_demand=stored.get("on_demand", False),
        **{name: tuple(stored.get(name, ())) for name in ("systems", "tags", "instances")},
    )


def _refuse_many(count: int) -> None:
    if count > MOST_INSTANCES:
        raise BadSettings(
            f"{count:,} instances are too many to be chosen one by one; at most {MOST_INSTANCES:,}: "
            "create a batch of them, and run the judge on that"
        )


def _require(subject: str, names_wanted: Iterable[str], existing: Iterable[str]) -> None:
    names = sorted(existing)
    for name in names_wanted:
        if name not in names:
            listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
            raise UnknownName(f"the study has no {subject} {name}; it has: {listed or 'none'}")
