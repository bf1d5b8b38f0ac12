"""Findings as plain text, for a terminal."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from annotation.core.database.aggregates import grouped
from annotation.core.tables import fixed
from reporting.core.text import counted as count
from reporting.core.text import estimate_text, printable
from reporting.findings.configurations.rater_findings import has_one_pair
from reporting.findings.data.asked import selection_text
from reporting.findings.measures import measures
from reporting.findings.raters.raters_table import flag_text
from reporting.findings.sections.data_table import p_text

NO_CONSISTENCY = "\N{EM DASH} (one pair an instance)"
DEGREES_OF = {"a": "A preferred", "tie": "both are", "b": "B preferred"}


def as_text(found: dict[str, Any]) -> str:
    """Return the answer, then the main numbers over all configurations, then a block for each of them."""
    blocks = [f"study {printable(found['study'])} (version {found['version']})"]
    if "question" in found["filters"]:
        blocks.append(f"about the question {found['filters']['question']}")
    if selection := selection_text(found["filters"]):
        blocks.append(f"about a part of the study: {selection}")
    if found["answer"]:
        blocks.append("\n".join(f"- {one['text']}" for one in found["answer"]))
    if not found["configurations"]:
        blocks.append("no configuration yet: import instances with generations of two systems")
    matrices = found["win_matrices"]
    compared = {one["rater"] for one in found["rankings"] if any(row["value"] is not None for row in one["systems"])}
    rankings = [one for one in found["rankings"] if one["rater"] in compared or not compared]
    parts = {
        "rankings": [*chain(*map(_ranking, rankings)), *chain(*map(_matrix, matrices)), *_cycles(matrices)],
        "tests between systems, over instances; n is of verdicts on the two systems": _system_tests(
            found["system_tests"]
        ),
        "win rates of A as they are, and at equal lengths": chain(*map(_lengths, found["length_adjusted"])),
        "may a judge replace people?": map(_verdict, found["replacement"]),
        "judges with one another: the same verdict on a pair": _judge_agreement(found["judge_agreement"]),
        "tests between judges of their agreement with people, paired by rating": map(_judge_test, found["judge_tests"]),
        "judges tuned on people's ratings": (
            printable(f"  {one['judge']}: left out {count(one['instances_left_out'], 'instances')}: {one['note']}")
            for one in found["tuned_judges"]
        ),
        "juries: independent votes that they are worth, and what each member adds": chain(*map(_jury, found["juries"])),
        "do judges prefer their own model's family?": chain(*map(_self_preference, found["self_preference"])),
        "who answered for judges, and prompts that were probably cut": chain(*map(_provenance, found["provenance"])),
        "raters to look at; none is left out because of it": map(
            _flagged, [one for one in found["raters"] if one["flags"]]
        ),
        "changed after rating had begun": map(_amendment, found["amendments"]),
    }
    blocks += ["\n".join([title, *lines]) for title, made in parts.items() if (lines := list(made))]
    blocks += [_configuration(one) for one in found["configurations"]]
    return "\n\n".join(blocks)


def _configuration(one: dict[str, Any]) -> str:
    lines = [
        _named(one),
        f"  {count(one['instances'], 'instances')}, {count(one['pairs'], 'pairs')}",
    ]
    if "chosen_note" in one:
        lines.append(printable(f"  {one['chosen_note']}"))
    separability = one["separability"]
    lines.append(f"  separability: {separability['similarity'] if separability else one['why']}")
    for rater in one["raters"]:
        lines += [f"  {line}" for line in _rater(rater, one["system_b"], consistent=not has_one_pair([one]))]
    return "\n".join(lines)


def _named(one: dict[str, Any]) -> str:
    return printable(f"{one['dataset']}: A = {one['system_a']}, B = {one['system_b']}")


def _rater(rater: dict[str, Any], system_b: str, *, consistent: bool) -> list[str]:
    counts, positions = rater["counts"], rater["shown_first"]
    lines = [
        f"{printable(rater['rater'])}: {count(rater['raters'], 'raters')}, {count(rater['rating_sets'], 'rating sets')} in use "
        f"({rater['incomplete_rating_sets']} incomplete), {count(rater['ratings'], 'ratings')}",
        f"  A {counts['a']}, tie {counts['tie']}, B {counts['b']}; "
        f"shown first {positions['first']}, second {positions['second']}",
        f"  mean consistency          {estimate_text(rater['mean_consistency']) if consistent else NO_CONSISTENCY}",
        f"  mean preference strength  {estimate_text(rater['mean_preference_strength'])}; "
        f"above 0: {printable(system_b)} preferred",
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
    for bin_ in rater["bins"] * consistent:
        mean = estimate_text(bin_["mean_consistency"])
        lines.append(
            f"  separability {fixed(bin_['low'])} to {fixed(bin_['high'])}: {count(bin_['instances'], 'instances')}, {mean}"
        )
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
        f"  weighted back to all instances: {count(weighted['instances'], 'instances')}, as good as "
        f"{weighted['effective_instances']:.1f} of equal weight; weights {weighted['smallest_weight']:.2f} to "
        f"{weighted['largest_weight']:.2f}"
    ]
    if weighted["rating_sets_left_out"]:
        lines.append(f"    {count(weighted['rating_sets_left_out'], 'rating sets')} left out: {weighted['why']}")
    return lines + [
        f"    {name:<25} as drawn {fixed(one['as_drawn'])}, weighted {estimate_text(one)}"
        for name, one in named.items()
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
    if first["system"] is None:
        lines.append(f"    first: none ({first['why']})")
    elif first["by_more_than_chance"] is not None:
        more = "by more than chance" if first["by_more_than_chance"] else "but this may be chance"
        adjusted = ", adjusted by Holm's method" if ranking["tests"]["of"] > 1 else ""
        lines.append(
            printable(
                f"    first: {first['system']}, {more} (p {p_text(first['p_value'], '= ')}{adjusted}, against {first['against']})"
            )
        )
    return lines + [
        printable(f"    note: {ranking[key]}") for key in ("note", "caution", "chosen_note") if key in ranking
    ]


def _judge_agreement(found: dict[str, Any] | None) -> Iterator[str]:
    """Yield how often judges give the same verdict, all together and every two."""
    if found is None or not found["judges"]:
        return
    yield f"  all: {estimate_text(found['raw_agreement'])}"
    for one in found["judges"]:
        yield printable(f"  {one['judge_a']} and {one['judge_b']}: {estimate_text(one['agreement'])}")


def _verdict(one: dict[str, Any]) -> str:
    return printable(f"  {one['judge']}: {one['verdict']['text']}")


def _rank(row: dict[str, Any]) -> str:
    """Return the rank and its range, as `2 (1-3)`."""
    if row["rank"] is None:
        return ""
    return f"{row['rank']} ({row['rank_low']}-{row['rank_high']})" if row["rank_low"] else str(row["rank"])


def _matrix(one: dict[str, Any]) -> list[str]:
    """Return what share each of more than two systems won against each that it met; of two the ranking says it."""
    systems = one["systems"]
    if len(systems) < 3:
        return []
    lines = [f"  {one['rater']}, share of verdicts won against each other system, a tie as half"]
    for name, wins, comparisons in zip(systems, one["wins"], one["comparisons"], strict=True):
        met = [
            f"{other} {won / n:.3f} (n = {n})" for other, won, n in zip(systems, wins, comparisons, strict=True) if n
        ]
        lines.append(f"    {name}: {', '.join(met) or 'never compared'}")
    return list(map(printable, lines))


def _system_tests(tests: list[dict[str, Any]]) -> list[str]:
    """Return the tests of Bradley-Terry ratings; of two systems the ranking has the only test."""
    lines = []
    shown = [one for one in tests if one["measure"] == "bradley_terry"]
    for rater, found in grouped((one["rater"], one) for one in shown).items():
        lines.append(printable(f"  {rater}, difference of Bradley-Terry ratings"))
        lines += [f"    {_test(one, 'system_a', 'system_b', 0, _met(one['met']))}" for one in found]
    return lines


def _met(met: dict[str, int]) -> str:
    """Say on what two systems were compared directly; the difference rests on all verdicts of the ranking."""
    if not met["verdicts"]:
        return "never compared directly, inferred through other systems"
    return f"n = {count(met['verdicts'], 'verdicts')}, {count(met['instances'], 'instances')}"


def _judge_test(test: dict[str, Any]) -> str:
    return f"  {_test(test, 'judge_a', 'judge_b', 3)}"


def _test(test: dict[str, Any], one: str, other: str, digits: int, n: str = "") -> str:
    shown = f"{printable(test[one])} less {printable(test[other])}: {estimate_text(test['difference'], digits, n)}"
    if test["p_value"] is None:
        return shown
    adjusted = f", adjusted by Holm's method {p_text(test['adjusted'])}" if test["of"] > 1 else ""
    return f"{shown}; p {p_text(test['p_value'], '= ')}{adjusted}"


def _lengths(rater: dict[str, Any]) -> list[str]:
    return [
        f"  {printable(rater['rater'])}",
        *(
            f"    {_named(one)}: {estimate_text(one['plain'])}; at equal lengths {estimate_text(one['win_rate_a'])}"
            f"{_length_effect(one)}"
            for one in rater["configurations"]
        ),
    ]


def _length_effect(one: dict[str, Any]) -> str:
    """Return the log-odds that a longer text adds, with their interval; nothing without them."""
    value, low, high = (one[f"length_effect{end}"] for end in ("", "_low", "_high"))
    interval = "" if low is None else f" [{fixed(low)}, {fixed(high)}]"
    own = "" if value is None else f"; effect of length {fixed(value)}{interval} (log-odds)"
    together = one.get("together")
    return own + (
        f"; common effect {fixed(together['length_effect'])}, ridge {together['ridge']:g}" if together else ""
    )


def _jury(one: dict[str, Any]) -> list[str]:
    """Return a jury's independent votes, and its agreement with people less that of the jury without each member."""
    jury = printable(f"  {one['judge']} ({one['rule']} of {', '.join(one['members'])})")
    if "why" in one:
        return [f"{jury}: {one['why']}"]
    return [
        f"{jury}: {estimate_text(one['effective_members'])}",
        *(printable(f"    {each['member']} adds {estimate_text(each['difference'])}") for each in one["without"]),
    ]


def _provenance(one: dict[str, Any]) -> list[str]:
    """Return who answered for a judge, with what makes its verdicts doubtful."""
    prompts, others = one["prompts"], one["answered_by_others"]
    lines = [f"  {one['judge']}: {count(one['answers'], 'answers')}{'; MIXED' if one['mixed'] else ''}"]
    for origin in one["answered_by"]:
        named = [origin["model"] or "a model that is not reported", origin["fingerprint"], origin["provider"]]
        lines.append(f"    {', '.join(filter(None, named))} (asked: {origin['asked']}): {origin['answers']}")
    if others:
        lines.append(f"    others: {others}")
    if prompts["cut"]:
        lines.append(f"    PROMPTS WERE CUT, probably: {prompts['cut']} of {prompts['counted']}")
    return list(map(printable, lines))


def _self_preference(one: dict[str, Any]) -> list[str]:
    """Return how often the systems of a judge's family win with it and with people, or why that cannot be told."""
    judge = printable(f"  {one['judge']}")
    if "why" in one:
        return [f"{judge}: cannot be told ({one['why']})"]
    return [
        f"{judge}: wins of systems of the family {printable(one['family'])}",
        f"    with the judge  {estimate_text(one['with_judge'])}",
        f"    with people     {estimate_text(one['with_people'])}",
        f"    difference      {estimate_text(one['difference'])}",
    ]


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
