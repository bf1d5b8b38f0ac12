"""The audit of several raters as a table: plain text for a terminal, and CSV."""

from collections.abc import Iterator
from typing import Any

from reporting.core.text import counted as count
from reporting.core.text import estimate_text, printable, share_text
from reporting.logic.audit import SIZES
from reporting.logic.audits import OVER_WORDINGS

OF_RATER = ("kind", "method", "model", "wording")
COLUMNS = (
    *("rater", "dataset", "measure"),
    *("value", "low", "high", "level", "n", "of", "n_instances", "tie_rule", "excluded", "why", "coin"),
    *OF_RATER,
)
OF_INSTANCE = ("rater", "dataset", "instance_id", "measure", "value", "n", "of", "tie_rule", "why")
WITHOUT_SIZE = ("human_agreement", "commutativity", "negation_invariance", "self_agreement", "preferred_first")


def as_rows(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row for each rater, data set and measure."""
    for rater in found["raters"]:
        about = {name: rater.get(name) for name in OF_RATER}
        for dataset, measures in [("", rater), *rater["datasets"].items()]:
            for name, estimate in _named(measures):
                row = {**about, "rater": rater["rater"], "dataset": dataset, "measure": name, **estimate}
                yield {column: row.get(column, "") if row.get(column) is not None else "" for column in COLUMNS}


def as_text(found: dict[str, Any]) -> str:
    """Return every measure of each rater with its interval."""
    raters = ("\n".join([*_rater(rater), *_listed(rater)]) for rater in found["raters"])
    wordings = ("\n".join(_wordings(one)) for one in found["wordings"])
    return "\n\n".join([f"study {printable(found['study'])}", *raters, *wordings])


def _rater(rater: dict[str, Any]) -> list[str]:
    contradictions = rater["contradictions"]
    return [
        f"{printable(rater['rater'])}: {count(rater['answers'], 'answers')} ({rater['unread']} unread) on "
        f"{count(rater['texts'], 'texts')} of {count(rater['instances'], 'instances')}; "
        f"preferences: {share_text(rater['density'])}",
        *(
            f"  {name.replace('_', ' '):<20} {estimate_text(estimate)}"
            for name, estimate in _named(rater)
            if name != "density"
        ),
        f"  cycles of three: {contradictions['cycles']['count']}, pairs whose verdict changes with the order: "
        f"{contradictions['order_effects']['count']}",
    ]


def _listed(rater: dict[str, Any]) -> Iterator[str]:
    """Yield the listed contradictions: the texts, and what was answered to each two of them."""
    for kind, found in rater["contradictions"].items():
        for one in found["listed"]:
            yield printable(f"  {kind.replace('_', ' ')[:-1]} on {one['instance_id']}")
            for text in one["texts"]:
                yield printable(f"    {text['system']}: {' '.join(text['text'].split())}")
            for said in one["answers"]:
                preferred = "neither" if said["is_tie"] else said["preferred"] or "no verdict"
                why = " ".join(said["rationale"].split())
                yield printable(f"    {said['shown_first']} first: {preferred}{why and f' ({why})'}")


def _wordings(one: dict[str, Any]) -> Iterator[str]:
    """Yield the spread over wordings of a judge."""
    yield printable(f"{one['model'] or one['method']} ({one['method']}) in {len(one['raters'])} wordings")
    for name in OVER_WORDINGS:
        found = one[name]
        known = found["value"] is not None
        said = (
            f"{found['value']:.3f}, {found['low']:.3f} to {found['high']:.3f}, sd {found['sd']:.3f}"
            if known
            else found["why"]
        )
        yield f"  {name.replace('_', ' '):<20} {said}, n = {found['n']}"
    correlation = one["rank_correlation"]
    said = correlation["why"] if correlation["value"] is None else f"{correlation['value']:.2f}"
    yield f"  Spearman's rho of commutativity and agreement: {said}, n = {correlation['n']}"


def _named(measures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "human_agreement", measures["human_agreement"]
    yield from ((f"transitivity_{k}", measures["transitivity"][str(k)]) for k in SIZES)
    yield "density", measures["density"]
    yield from ((name, measures[name]) for name in WITHOUT_SIZE[1:])
