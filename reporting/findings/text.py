"""Findings as plain text, for a terminal: the answer, and the tables of the page."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from annotation.core.counting import counted, printable
from annotation.core.tables import DataTable, numbers_text, table_text
from reporting.core.text import level_text
from reporting.findings.answer.planned import plan_notes
from reporting.findings.data.asked import selection_of
from reporting.findings.raters.raters_table import flag_text
from reporting.findings.sections import page_sections
from reporting.findings.sections.configurations import configuration_section, data_section

MOST = {"configurations": 20}  # that a terminal shows; JSON has all
# What a section says beside its tables, by its key.
SENTENCES = {
    **dict.fromkeys(("first", "settled", "note", "notes", "why", "untested", "clusters"), "{}"),
    "cycles": "No order fits all majorities among {}.",
    "verdicts": "{judge}: {text}",
    "tuned": "{} was tuned on ratings of {} instances, which are left out.",
    "mixed": "{}: more than one model, build or provider answered. Its verdicts are mixed.",
    "cut": "{judge}: {cut} of {counted} prompts were probably cut.",
}
ISOLATES = dict.fromkeys(map(ord, "\N{FIRST STRONG ISOLATE}\N{POP DIRECTIONAL ISOLATE}"))


def as_text(findings: dict[str, Any]) -> str:
    """Return the answer, then the sections of the page, then a block for each configuration."""
    blocks = [f"study {printable(findings['study'])} (version {findings['version']})"]
    if "question" in findings["filters"]:
        blocks.append(f"about the question {findings['filters']['question']}")
    if selection := selection_of(findings["filters"]):
        blocks.append(f"about a part of the study: {'; '.join(map(printable, selection))}")
    headline, *statements = (
        f"[{sentence['plan']}] {sentence['text']}" if "plan" in sentence else str(sentence["text"])
        for sentence in findings["answer"]
    )
    brackets = f"In brackets: {level_text(findings['filters']['level'])} intervals."
    blocks.append("\n".join([headline, *(f"- {text}" for text in statements), *([brackets] * bool(statements))]))
    blocks.append("\n".join(map(printable, plan_notes(findings))))
    configurations = findings["configurations"]
    if configurations:
        sections = [*page_sections(findings, {})["results"].values(), data_section(findings, {})]
        blocks += [
            "\n".join([printable(str(section["title"]).translate(ISOLATES)), *_parts(section)]) for section in sections
        ]
    if flagged := [row for row in findings["raters"] if row["flags"]]:
        blocks.append("\n".join(["Raters to review; none is left out because of it", *map(_flagged, flagged)]))
    if findings["amendments"]:
        blocks.append("\n".join(["Changes after rating began", *map(_amendment, findings["amendments"])]))
    blocks += map(_configuration, configurations[: MOST["configurations"]])
    if more := len(configurations[MOST["configurations"] :]):
        blocks.append(f"... {more} more configurations: see --format json, or choose two --systems")
    return "\n\n".join(blocks)


def _parts(section: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences and tables of a section, each once."""
    return iter(dict.fromkeys(text for key, value in section.items() for text in _texts(key, value)))


def _texts(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, DataTable):
        yield table_text(value)
    elif key in SENTENCES:
        for entry in [value] if isinstance(value, str) else value:
            values, named = (
                ((), entry) if isinstance(entry, dict) else (entry if isinstance(entry, tuple) else (entry,), {})
            )
            if entry:
                yield printable(SENTENCES[key].format(*values, **named))
    elif isinstance(value, dict):
        yield from _parts(value)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts("", entry)


def _configuration(configuration: dict[str, Any]) -> str:
    section, separability = configuration_section(configuration, 0, lambda _: {}), configuration["separability"]
    size = f"{counted(configuration['instances'], 'instances')}, {counted(configuration['pairs'], 'pairs')}"
    lines = [
        section["name"],
        f"  {size}",
        *([f"  {configuration['chosen_note']}"] if "chosen_note" in configuration else []),
    ]
    lines.append(f"  separability: {separability['similarity'] if separability else configuration['why']}")
    tables = (
        text for key in ("raters", "degrees", "bins", "distributions", "answers") for text in _texts("", section[key])
    )
    return "\n".join([*map(printable, lines), *tables, *_further(configuration["raters"])])


def _further(raters: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for rater in raters:
        if "note" in rater:
            yield numbers_text({rater["rater"]: {"note": rater["note"]}})
        if "weighted" in rater:
            yield table_text(_weighted(rater["rater"], rater["weighted"]))


def _weighted(rater: str, weighted: Mapping[str, Any]) -> DataTable:
    shares = {f"share of {name}": weighted["shares"][key] for key, name in (("a", "A"), ("tie", "ties"), ("b", "B"))}
    keys = ("mean_consistency", "mean_preference_strength", "win_rate_a")
    named = {**{key.replace("_", " "): weighted[key] for key in keys}, **shares}
    caption = (
        f"{rater}, weighted back to all instances: {counted(weighted['instances'], 'instances')}, as good as "
        f"{weighted['effective_instances']:.1f} of equal weight; weights {weighted['smallest_weight']:.2f} to "
        f"{weighted['largest_weight']:.2f}; {counted(weighted['rating_sets_left_out'], 'rating sets')} left out"
    )
    rows = [((name,), [estimate["as_drawn"], estimate]) for name, estimate in named.items()]
    return DataTable("weighted", caption, ["", "As drawn", "Weighted back"], rows)


def _flagged(row: dict[str, Any]) -> str:
    program = " (a program)" if row["scripted"] else ""
    return printable(f"  {row['rater']}{program}: {' '.join(map(flag_text, row['flags']))}")


def _amendment(amendment: dict[str, str]) -> str:
    reason = f" (reason: {' '.join(amendment['reason'].split())})" if amendment["reason"] else ""
    return printable(f"  {amendment['at']}  {amendment['kind']}: {amendment['what']}{reason}")
