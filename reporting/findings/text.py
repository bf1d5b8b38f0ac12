"""Findings as plain text, for a terminal."""

from typing import Any

from reporting.core.text import estimate_text, printable
from reporting.findings.measures import measures
from reporting.findings.rater_flags import flag_text
from reporting.findings.selection import selection_text

DEGREES_OF = {"a": "A preferred", "tie": "both are", "b": "B preferred"}


def as_text(found: dict[str, Any]) -> str:
    """Return the answer, then the main numbers of findings, one block per configuration."""
    blocks = [f"study {printable(found['study'])} (version {found['version']})"]
    if "question" in found["filters"]:
        blocks.append(f"about the question {found['filters']['question']}")
    if selection := selection_text(found["filters"]):
        blocks.append(f"about a part of the study: {selection}")
    if found["answer"]:
        blocks.append("\n".join(f"- {one['text']}" for one in found["answer"]))
    if not found["configurations"]:
        blocks.append("no configuration yet: import instances with generations of two systems")
    blocks += [_configuration(one) for one in found["configurations"]]
    if found["rankings"]:
        blocks.append(
            "\n".join(
                [
                    "rankings",
                    *(line for one in found["rankings"] for line in _ranking(one)),
                    *_cycles(found["win_matrices"]),
                ]
            )
        )
    if found["replacement"]:
        blocks.append("\n".join(["may a judge replace people?", *map(_verdict, found["replacement"])]))
    flagged = [one for one in found["raters"] if one["flags"]]
    if flagged:
        blocks.append("\n".join(["raters to look at; nobody is left out because of it", *map(_flagged, flagged)]))
    if found["amendments"]:
        blocks.append("\n".join(["changed after rating had begun", *map(_amendment, found["amendments"])]))
    return "\n\n".join(blocks)


def _configuration(one: dict[str, Any]) -> str:
    lines = [
        printable(f"{one['dataset']}: A = {one['system_a']}, B = {one['system_b']}"),
        f"  {one['instances']} instances, {one['pairs']} pairs",
    ]
    if "chosen_note" in one:
        lines.append(printable(f"  {one['chosen_note']}"))
    separability = one["separability"]
    lines.append(f"  separability: {separability['similarity'] if separability else one['why']}")
    for rater in one["raters"]:
        lines += [f"  {line}" for line in _rater(rater)]
    return "\n".join(lines)


def _rater(rater: dict[str, Any]) -> list[str]:
    counts, positions = rater["counts"], rater["shown_first"]
    lines = [
        f"{printable(rater['rater'])}: {rater['raters']} raters, {rater['rating_sets']} rating sets "
        f"({rater['incomplete_rating_sets']} incomplete), {rater['ratings']} ratings",
        f"  A {counts['a']}, tie {counts['tie']}, B {counts['b']}; "
        f"shown first {positions['first']}, second {positions['second']}",
        f"  mean consistency          {estimate_text(rater['mean_consistency'])}",
        f"  mean preference strength  {estimate_text(rater['mean_preference_strength'])}",
    ]
    if "weighted" in rater:
        lines += _weighted(rater["weighted"])
    if "note" in rater:
        lines.append(f"  {rater['note']}")
    if "asked" in rater:
        lines.append(
            f"  asked {rater['asked']}, parsed {rater['parsed']}, unparsed {rater['unparsed']}, "
            f"refused {rater['refused']}, errors {rater['errors']}"
        )
    if "degrees" in rater:
        lines += [f"  {DEGREES_OF[side]}: {_counts(counts)}" for side, counts in rater["degrees"].items()]
    for one in measures():
        lines += [f"  {name:<25} {estimate_text(estimate)}" for name, estimate in one.lines(rater)]
    for bin_ in rater["bins"]:
        mean = estimate_text(bin_["mean_consistency"])
        lines.append(f"  separability {bin_['low']:.3f} to {bin_['high']:.3f}: {bin_['instances']} instances, {mean}")
    return lines


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _weighted(weighted: dict[str, Any]) -> list[str]:
    named = {
        "mean consistency": weighted["mean_consistency"],
        "mean preference strength": weighted["mean_preference_strength"],
        "share of A": weighted["shares"]["a"],
        "share of ties": weighted["shares"]["tie"],
        "share of B": weighted["shares"]["b"],
        "win rate of A": weighted["win_rate_a"],
    }
    lines = [
        f"  weighted back to all instances: {weighted['instances']} instances, as good as "
        f"{weighted['effective_instances']:.1f} of equal weight; weights {weighted['smallest_weight']:.2f} to "
        f"{weighted['largest_weight']:.2f}"
    ]
    if weighted["rating_sets_left_out"]:
        lines.append(f"    {weighted['rating_sets_left_out']} rating sets left out: {weighted['why']}")
    return lines + [
        f"    {name:<25} as drawn {one['as_drawn']:z.3f}, weighted {estimate_text(one)}" for name, one in named.items()
    ]


def _ranking(ranking: dict[str, Any]) -> list[str]:
    """Return the systems with their ranks, and what limits the ranking; a blank first column where there is no rank."""
    tie_rule = f" ({ranking['tie_rule']})" if "why" not in ranking else f": none ({ranking['why']})"
    lines = [f"  {printable(ranking['rater'])}, {ranking['measure'].replace('_', ' ')}{tie_rule}"]
    if "why" in ranking:
        return lines
    digits = 3 if "rate" in ranking["measure"] else 0
    lines += [
        f"    {_rank(row):>9}  {printable(row['system'])}: {estimate_text(row, digits)}" for row in ranking["systems"]
    ]
    first = ranking["first"]
    if first["by_more_than_chance"] is not None:
        more = "by more than chance" if first["by_more_than_chance"] else "by no more than chance may do"
        lines.append(printable(f"    first: {first['system']}, {more} (p = {first['p_value']:.3f}, Holm)"))
    return lines + [
        printable(f"    note: {ranking[key]}") for key in ("note", "caution", "chosen_note") if key in ranking
    ]


def _verdict(one: dict[str, Any]) -> str:
    return printable(f"  {one['judge']}: {one['verdict']['text']}")


def _rank(row: dict[str, Any]) -> str:
    """Return the rank and its range, as `2 (1-3)`."""
    if row["rank"] is None:
        return ""
    return f"{row['rank']} ({row['rank_low']}-{row['rank_high']})"


def _cycles(matrices: list[dict[str, Any]]) -> list[str]:
    """Return the preference cycles of each rater."""
    return [
        printable(f"  {one['rater']}: no order fits all majorities among {', '.join(cycle)}")
        for one in matrices
        for cycle in one["cycles"]
    ]


def _flagged(row: dict[str, Any]) -> str:
    program = " (a program)" if row["scripted"] else ""
    return printable(f"  {row['rater']}{program}: {' '.join(map(flag_text, row['flags']))}")


def _amendment(one: dict[str, str]) -> str:
    entry = f"{one['at']}  {one['kind']}: {one['what']}"
    return printable(f"  {entry} (reason: {' '.join(one['reason'].split())})" if one["reason"] else f"  {entry}")
