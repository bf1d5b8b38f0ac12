"""Repaired preferences as training data: one writer of rows, in the forms that trainers read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from analysis.types import FloatArray, IntArray
from annotation.core.conversations import Transcript, as_messages, raw_content, stored_content
from annotation.core.counting import printable
from annotation.core.errors import AnnotationError
from annotation.core.reasons import reason
from annotation.core.version import VERSION
from annotation.models import Generation, Instance
from reporting.exports.elsewhere import RowFilter
from reporting.exports.files import PARQUET, write_rows
from reporting.logic.preferences import Preferences

CHUNK = 500  # instances whose texts are in memory at a time
FORMS = ("trl", "instruction", "hf")
PLAIN = "Compare two texts that were written for the same source. {question}"
NEGATED = "Compare two texts that were written for the same source, and find the other one, to which this does not apply. {question}"
ANSWER = "Answer 1 or 2."
ASKED = "{source}\n\n{question}"
ASKED_NEGATED = "{source}\n\nThe text of two to which this does not apply: {question}"
PREFERENCE = ("prompt", "chosen", "rejected", "margin", "source", "instance_id", "negated")
REFINED = "refined"
# Rows of a pair: the better text first, or second; with the negated question that many more.
PLAIN_ROW, TURNED, OTHER = range(3)


@dataclass(frozen=True)
class Options:
    """Options of training data.

    form        : "trl" (prompt, chosen, rejected), "instruction" (instruction, input, output: both orders of each pair), or
                  "hf" (a folder that the library `datasets` loads, with a card; Parquet, since of JSON it reads a column of
                  dates as times)
    negated     : whether each row is there a second time with the negated question, whose answer is the other text
    down_sample : whether only as many rows are drawn as preferences were given
    held_out    : share of instances whose pairs are kept apart, in a file or split of their own
    without     : rows to leave out, as of `WantedVerdicts`
    """

    form: str = "trl"
    negated: bool = False
    down_sample: bool = False
    held_out: float = 0.0
    seed: int = 0
    without: Sequence[str] = ()


@dataclass(frozen=True)
class TrainingPreference:
    """Two texts of an instance, the better one first.

    margin      : the difference of their scores; of preferences as given their strength, None where it is not known
    preferred_by: "people", "judge:NAME", or REFINED
    """

    instance_id: str
    dataset: str
    source: str
    better: str
    worse: str
    margin: float | None
    preferred_by: str
    row: int


class Training(Protocol):
    """Preferences with the pairs of items to write (better first, by instance), their scores and origin."""

    @property
    def given(self) -> Preferences: ...

    @property
    def pairs(self) -> IntArray: ...

    @property
    def has_margins(self) -> bool: ...

    @property
    def scores(self) -> FloatArray | None: ...

    @property
    def how(self) -> str: ...


@dataclass(frozen=True, eq=False)
class AsGiven:
    """Preferences as raters gave them."""

    given: Preferences
    scores = None

    @property
    def pairs(self) -> IntArray:
        """(m, 3) items (better first) and verdict, by instance."""
        verdicts = np.flatnonzero(self.given.decided)
        return self._by_instance(np.stack([self.given.winners, self.given.losers, verdicts], axis=1))

    @property
    def has_margins(self) -> bool:
        """Tell whether every preference has a strength: a trainer takes a margin of all rows or of none."""
        return not np.isnan(self.given.strength[self.given.decided]).any()

    @property
    def ties(self) -> IntArray:
        """(t, 2) items of which neither was preferred, by instance."""
        return self._by_instance(self.given.ties)

    @property
    def how(self) -> str:
        """Say what the pairs are."""
        return "Each pair is one preference, as its rater gave it."

    def _by_instance(self, pairs: IntArray) -> IntArray:
        return pairs[np.argsort(self.given.instance[pairs[:, 0]], kind="stable")]


def write_training_data(
    repaired: Training, out: Path, *, title: str, question: str, options: Options
) -> dict[str, int]:
    """Write the pairs. Return the rows of each file by its path.

    out : a file, or for the form "hf" a folder; a file's held-out part is beside it, as NAME.held-out.SUFFIX
    Raises: AnnotationError for a folder without rows, which could not be loaded, or where Parquet can't be written.
    """
    rng = np.random.default_rng(options.seed)
    preferences, pairs = repaired.given, repaired.pairs
    n = len(preferences.instances)
    is_held_out = np.isin(np.arange(n), rng.permutation(n)[: round(options.held_out * n)])
    is_apart = is_held_out[preferences.instance[pairs[:, 0]]]
    kept_rows = _rows_of(pairs[~is_apart], options)
    if options.down_sample:
        size = int((~is_held_out[preferences.instance[preferences.winners]]).sum())
        kept_rows = kept_rows[np.sort(rng.permutation(len(kept_rows))[:size])]
    pairs, held_out_pairs = kept_rows, _rows_of(pairs[is_apart], options)
    form = PARQUET if options.form == "hf" else "jsonl"
    if form == PARQUET and not len(repaired.pairs):
        raise AnnotationError(reason("no_preferences_to_write"))
    if form == PARQUET:
        out.mkdir(parents=True, exist_ok=True)
        (out / "test.parquet").unlink(missing_ok=True)  # of an earlier time, with what is now trained on
        parts = {out / "train.parquet": pairs, **({out / "test.parquet": held_out_pairs} if options.held_out else {})}
    else:
        held_out_file = out.with_name(f"{out.stem}.held-out{out.suffix}")
        parts = {out: pairs, **({held_out_file: held_out_pairs} if options.held_out else {})}
    rows, columns = _form(question, options, margins=repaired.has_margins)
    written = {
        str(path): write_rows(path, rows(_wanted(_preferences(repaired, part), options.without)), columns, form)
        for path, part in parts.items()
    }
    if form == PARQUET:
        (out / "README.md").write_text(_card(repaired, title, written), encoding="utf-8")
    return written


def _wanted(preferences: Iterator[TrainingPreference], without: Sequence[str], *, ties: bool = False) -> Iterator[Any]:
    row_filter = RowFilter(without)
    for row in preferences:
        if row_filter.keeps(better=row.better, worse=row.worse, is_tie=ties, other=(row.source, row.row)):
            yield row


def write_ties(preferences: AsGiven, out: Path, without: Sequence[str] = ()) -> int:
    """Write the pairs without a preferred text. Return their number."""
    rows = (
        {
            "prompt": raw_content(preference.source),
            "text_1": raw_content(preference.better),
            "text_2": raw_content(preference.worse),
            "instance_id": preference.instance_id,
        }
        for preference in _wanted(_preferences(preferences, _rows_of(preferences.ties, Options())), without, ties=True)
    )
    return write_rows(out, rows, ("prompt", "text_1", "text_2", "instance_id"), "jsonl")


def _rows_of(pairs: IntArray, options: Options) -> IntArray:
    """Return each pair with each of its rows."""
    kinds = (PLAIN_ROW, TURNED) if options.form == "instruction" else (PLAIN_ROW,)
    rows = np.array([kind + more for kind in kinds for more in ((0, OTHER) if options.negated else (0,))])
    return np.column_stack([np.repeat(pairs, len(rows), axis=0), np.tile(rows, len(pairs))])


def _preferences(repaired: Training, pairs: IntArray) -> Iterator[TrainingPreference]:
    """Yield the texts of rows, which are sorted by instance."""
    preferences, scores = repaired.given, repaired.scores
    instance = preferences.instance[pairs[:, 0]]
    for start in range(0, len(preferences.instances), CHUNK):
        rows = pairs[(instance >= start) & (instance < start + CHUNK)]
        keys = preferences.instances[start : start + CHUNK].tolist()
        texts_by_kind = {
            row[0]: row[1:]
            for row in Instance.objects.filter(pk__in=keys).values_list(
                "pk", "instance_id", "dataset", "source", "messages"
            )
        }
        rows_of_texts = Generation.objects.filter(instance__in=keys).values_list("pk", "text", "messages")
        texts = {pk: stored_content(text, messages) for pk, text, messages in rows_of_texts}
        for better, worse, *verdict, row in rows.tolist():
            instance_id, dataset, source, messages = texts_by_kind[
                int(preferences.instances[preferences.instance[better]])
            ]
            better_text, worse_text = (texts[int(preferences.generation[item])] for item in (better, worse))
            margin = np.nan if scores is None else float(scores[better] - scores[worse])
            by = REFINED
            for index in verdict:
                margin, by = float(preferences.strength[index]), preferences.raters[preferences.rater[index]]
            yield TrainingPreference(
                instance_id,
                dataset,
                stored_content(source, messages),
                better_text,
                worse_text,
                None if np.isnan(margin) else margin,
                by,
                row,
            )


Rows = Callable[[Iterator[TrainingPreference]], Iterator[dict[str, Any]]]


def _form(question: str, options: Options, *, margins: bool) -> tuple[Rows, tuple[str, ...]]:
    """Return what makes rows of preferences, and their columns."""
    if options.form == "instruction":
        return partial(_instructions, question=question), ("instruction", "input", "output")
    columns = [
        *(name for name in PREFERENCE if margins or name != "margin"),
        *(["dataset"] if options.form == "hf" else []),
    ]
    return partial(_chosen_and_rejected, question=question if options.negated else ""), tuple(columns)


def _chosen_and_rejected(preferences: Iterator[TrainingPreference], question: str) -> Iterator[dict[str, Any]]:
    """Yield rows of TRL. With a question, each prompt holds it or its negation, by which the other text is chosen."""
    for preference in preferences:
        negated = preference.row >= OTHER
        prompt = (ASKED_NEGATED if negated else ASKED).format(source=preference.source, question=question)
        chosen_text, rejected = (
            (preference.worse, preference.better) if negated else (preference.better, preference.worse)
        )
        contents: dict[str, Any] = {
            "prompt": prompt if question else preference.source,
            "chosen": chosen_text,
            "rejected": rejected,
        }
        if any(isinstance(content, Transcript) for content in contents.values()):  # TRL takes all three as messages
            roles = zip(contents.items(), ("user", "assistant", "assistant"), strict=True)
            contents = {name: as_messages(content, role) for (name, content), role in roles}
        yield {
            **contents,
            "margin": preference.margin,
            "source": preference.preferred_by,
            "instance_id": preference.instance_id,
            "negated": negated,
            "dataset": preference.dataset,
        }


def _instructions(preferences: Iterator[TrainingPreference], question: str) -> Iterator[dict[str, Any]]:
    """Yield which of two texts it is, shown in the row's order."""
    for preference in preferences:
        turned, negated = preference.row % 2, preference.row >= OTHER
        texts = (preference.worse, preference.better) if turned else (preference.better, preference.worse)
        wording = NEGATED if negated else PLAIN
        yield {
            "instruction": f"{wording.format(question=question)} {ANSWER}",
            "input": f"Source:\n{preference.source}\n\nText 1:\n{texts[0]}\n\nText 2:\n{texts[1]}",
            "output": str(1 + (turned ^ negated)),
        }


def _card(repaired: Training, title: str, written: dict[str, int]) -> str:
    """Return the data set card: which file is which split, and how the pairs were made."""
    splits = [
        (Path(path).stem, Path(path).name, rows) for path, rows in written.items() if rows
    ]  # no empty one is loaded
    head = "\n".join(f"      - split: {split}\n        path: {name}" for split, name, _ in splits)
    counts = "\n".join(f"- `{split}`: {rows} rows" for split, _, rows in splits)
    return f"""---
configs:
  - config_name: default
    data_files:
{head}
tags:
  - preference
---

# {printable(title)}

Pairs of texts with the better one as `chosen` and the other as `rejected`, for the source in `prompt`. {repaired.how}

{counts}

Written by Tandem {VERSION}. The texts are those of the study; check their licences before you publish this folder.
"""
