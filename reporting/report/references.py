"""References of a report, with reasons, as BibTeX: only those that its numbers use."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# By the keyword in the comment above each.
ENTRIES: dict[str, str] = {
    reason: entry
    for block in Path(__file__).with_suffix(".bib").read_text(encoding="utf-8").strip().split("\n\n")
    for reason, entry in [block.removeprefix("% ").split("\n", 1)]
}


def cited(findings: Mapping[str, Any]) -> list[str]:
    """Return the keys of ENTRIES that findings rest on."""
    return [key for key in ENTRIES if key in set(_reasons(findings))]


def _reasons(findings: Mapping[str, Any]) -> Iterator[str]:
    yield "krippendorff"
    for item in findings["configurations"]:
        if item["separability"] is not None:
            yield "separability"
            yield from (
                key for key in ("rouge", "bleu", "chrf", "bertscore") if key in item["separability"]["similarity"]
            )
    yield from (
        key for ranking in findings["rankings"] for key in ("bradley_terry", "elo") if ranking["measure"].endswith(key)
    )
    if findings["replacement"]:
        yield "alternative_annotator"
    if any(judge["alternative_annotator"]["tested"] for judge in findings["replacement"]):
        yield "benjamini_yekutieli"
    if any(item["n_judged"] for judge in findings["replacement"] for item in judge["prediction_powered"]):
        yield "prediction_powered"
    if any(item["weighted"] for judge in findings["replacement"] for item in judge["prediction_powered"]):
        yield "active"
    if any(item["of"] > 1 for item in (*findings["judge_tests"], *findings["system_tests"])):
        yield "holm"
    if findings["dawid_skene"].get("raters"):
        yield "dawid_skene"
    if findings["length_adjusted"]:
        yield "length"


def bibtex(keys: list[str], version: str) -> str:
    """Return the entries of these, and of this software in its version."""
    # BibTeX itself has no entry of software.
    software = (
        "@misc{tandem,\n  author = {{The Tandem contributors}},\n"
        f"  title = {{Tandem: human and judge preferences on the very same pairs}},\n  note = {{Software, version {version}}}\n}}"
    )
    return "\n\n".join([*(ENTRIES[key] for key in keys), software]) + "\n"
