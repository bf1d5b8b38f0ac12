"""Origins of judges' answers: the models that gave them, and prompts that were probably cut. No models of the database."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from analysis.judges.prompt_tokens import cut_prompts
from analysis.types import BoolArray, FloatArray

MOST_ORIGINS = 20  # of a judge are listed


class Origin(NamedTuple):
    """The requested model, and the model and provider in the response, or empty strings where it doesn't say."""

    asked: str
    model: str
    fingerprint: str
    provider: str


@dataclass(frozen=True)
class Provenance:
    """Origins of the answers behind a judge's verdicts, each answer counted once.

    origins : the most frequent ones with their numbers of answers; `others`: answers of further ones
    mixed   : one model was asked, and several models, builds or providers answered
    counted : answers whose prompt tokens are known, with an estimate of them; `cut`: those with too few of them
    """

    origins: tuple[tuple[Origin, int], ...]
    others: int
    mixed: bool
    counted: int
    cut: int

    @classmethod
    def of(cls, counts: Mapping[Origin, int], is_cut: BoolArray) -> "Provenance":
        """Return the provenance of answers, counted by origin, of which some have known prompts, cut or not."""
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        listed, remaining = ordered[:MOST_ORIGINS], ordered[MOST_ORIGINS:]
        return cls(tuple(listed), sum(n for _, n in remaining), is_mixed(counts), len(is_cut), int(is_cut.sum()))

    @property
    def answers(self) -> int:
        """All answers."""
        return sum(n for _, n in self.origins) + self.others

    def as_json(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "answers": self.answers,
            "answered_by": [{**origin._asdict(), "answers": n} for origin, n in self.origins],
            "answered_by_others": self.others,
            "mixed": self.mixed,
            "prompts": {"counted": self.counted, "cut": self.cut},
        }


def is_mixed(origins: Iterable[Origin]) -> bool:
    """Tell whether answers to one asked model name several models, builds of a model, or providers."""
    models: dict[tuple[str, ...], set[str]] = {}
    for origin in origins:
        for key, name in (
            ((origin.asked, "model"), origin.model),
            ((origin.asked, "fingerprint", origin.model), origin.fingerprint),
            ((origin.asked, "provider"), origin.provider),
        ):
            models.setdefault(key, set()).add(name)
    return any(len(names - {""}) > 1 for names in models.values())


def warnings_of(judge: str, provenance: Provenance) -> list[str]:
    """Return the warnings about a judge's answers for a terminal."""
    warnings = []
    if provenance.mixed:
        warnings.append(f"more than one model, build or provider answered for judge {judge}; their verdicts are mixed")
    if provenance.cut:
        warnings.append(
            f"{provenance.cut} of {provenance.counted} prompts of judge {judge} were probably cut: the endpoint counted too few tokens; "
            "check its context window"
        )
    return warnings


def provenance_by(counts: Mapping[int, Mapping[Origin, int]], answers: FloatArray) -> dict[int, Provenance]:
    """Return the provenance of each judge or run.

    counts  : answers by origin, by the judge's or run's key
    answers : (4, n) key, completion, prompt tokens, expected ones; each answer of a key once, NaN where a count is unknown
    """
    key, _, tokens, expected = answers
    is_known = ~np.isnan(tokens) & ~np.isnan(expected)
    return {
        key_of_judge: Provenance.of(
            origins, cut_prompts(tokens[is_known & (key == key_of_judge)], expected[is_known & (key == key_of_judge)])
        )
        for key_of_judge, origins in counts.items()
    }


def cut_answers(answers: FloatArray) -> set[int]:
    """Return the completions of all keys whose prompts were probably cut. `answers` is as in `provenance_by`."""
    key, completion, tokens, expected = answers
    is_known = ~np.isnan(tokens) & ~np.isnan(expected)
    cut: set[int] = set()
    for key_value in np.unique(key[is_known]):
        rows = is_known & (key == key_value)
        cut.update(completion[rows][cut_prompts(tokens[rows], expected[rows])].astype(np.int64).tolist())
    return cut
