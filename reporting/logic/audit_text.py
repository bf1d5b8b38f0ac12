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


def as_rows(audit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row for each rater, data set and measure."""
    for rater in audit["raters"]:
        description = {name: rater.get(name) for name in OF_RATER}
        for dataset, measures in [("", rater), *rater["datasets"].items()]:
            for name, estimate in _named(measures):
                row = {**description, "rater": rater["rater"], "dataset": dataset, "measure": name, **estimate}
                yield {column: row.get(column, "") if row.get(column) is not None else "" for column in COLUMNS}


def as_text(audit: dict[str, Any]) -> str:
    """Return every measure of each rater with its interval."""
    raters = ("\n".join([*_rater(rater), *_listed(rater)]) for rater in audit["raters"])
    wordings = ("\n".join(_wordings(wording)) for wording in audit["wordings"])
    return "\n\n".join([f"study {printable(audit['study'])}", *raters, *wordings])


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
    for kind, contradiction in rater["contradictions"].items():
        for item in contradiction["listed"]:
            yield printable(f"  {kind.replace('_', ' ')[:-1]} on {item['instance_id']}")
            for text in item["texts"]:
                yield printable(f"    {text['system']}: {' '.join(text['text'].split())}")
            for answer in item["answers"]:
                preferred = "neither" if answer["is_tie"] else answer["preferred"] or "no verdict"
                why = " ".join(answer["rationale"].split())
                yield printable(f"    {answer['shown_first']} first: {preferred}{why and f' ({why})'}")


def _wordings(wordings: dict[str, Any]) -> Iterator[str]:
    """Yield the spread over wordings of a judge."""
    yield printable(
        f"{wordings['model'] or wordings['method']} ({wordings['method']}) in {len(wordings['raters'])} wordings"
    )
    for name in OVER_WORDINGS:
        spread = wordings[name]
        is_known = spread["value"] is not None
        text = (
            f"{spread['value']:.3f}, {spread['low']:.3f} to {spread['high']:.3f}, sd {spread['sd']:.3f}"
            if is_known
            else spread["why"]
        )
        yield f"  {name.replace('_', ' '):<20} {text}, n = {spread['n']}"
    correlation = wordings["rank_correlation"]
    text = correlation["why"] if correlation["value"] is None else f"{correlation['value']:.2f}"
    yield f"  Spearman's rho of commutativity and agreement: {text}, n = {correlation['n']}"


def _named(measures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "human_agreement", measures["human_agreement"]
    yield from ((f"transitivity_{k}", measures["transitivity"][str(k)]) for k in SIZES)
    yield "density", measures["density"]
    yield from ((name, measures[name]) for name in WITHOUT_SIZE[1:])
