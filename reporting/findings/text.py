"""Findings as plain text, for a terminal."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from annotation.core.counting import counted as count
from annotation.core.database.aggregates import grouped
from annotation.core.tables import estimate_text, fixed, printable
from reporting.core.text import level_text
from reporting.findings.answer.planned import plan_notes
from reporting.findings.answer.statements import has_one_pair
from reporting.findings.data.asked import selection_text
from reporting.findings.measures import measures
from reporting.findings.raters.raters_table import flag_text
from reporting.findings.sections.data_table import p_text

NO_CONSISTENCY = "\N{EM DASH} (one pair an instance)"
MOST = {"lines": 100, "configurations": 20}  # that a terminal shows; JSON has all
DEGREES_OF = {"a": "A preferred", "tie": "both are", "b": "B preferred"}


def as_text(findings: dict[str, Any]) -> str:
    """Return the answer, then the main numbers over all configurations, then a block for each of them."""
    blocks = [f"study {printable(findings['study'])} (version {findings['version']})"]
    if "question" in findings["filters"]:
        blocks.append(f"about the question {findings['filters']['question']}")
    if selection := selection_text(findings["filters"]):
        blocks.append(f"about a part of the study: {selection}")
    headline, *statements = map(_sentence, findings["answer"])
    brackets = f"In brackets: {level_text(findings['filters']['level'])} intervals."
    blocks.append("\n".join([headline, *(f"- {text}" for text in statements), *([brackets] * bool(statements))]))
    blocks.append("\n".join(map(printable, plan_notes(findings))))
    matrices = findings["win_matrices"]
    compared = {
        ranking["rater"]
        for ranking in findings["rankings"]
        if any(row["value"] is not None for row in ranking["systems"])
    }
    rankings = [ranking for ranking in findings["rankings"] if ranking["rater"] in compared or not compared]
    systems = max((len(ranking["systems"]) for ranking in rankings), default=0)
    main = "bradley_terry" if systems > 2 else "win_rate"
    parts = {
        "rankings": [
            *chain(*(_ranking(ranking) for ranking in rankings if ranking["measure"] == main)),
            *chain(*map(_matrix, matrices)),
            *_cycles(matrices),
        ],
        "other rankings": chain(*(_ranking(ranking) for ranking in rankings if ranking["measure"] != main)),
        "tests between systems, over instances; n is of verdicts on the two systems": _first(
            "lines", _system_tests(findings["system_tests"])
        ),
        "win rates of A as they are, and at equal lengths": _first(
            "lines", [*chain(*map(_lengths, findings["length_adjusted"]))]
        ),
        "may a judge replace people?": map(_verdict, findings["replacement"]),
        "judges with one another: the same verdict on a pair": _judge_agreement(findings["judge_agreement"]),
        "tests between judges of their agreement with people, paired by rating": map(
            _judge_test, findings["judge_tests"]
        ),
        "judges tuned on people's ratings": (
            printable(
                f"  {judge['judge']}: left out {count(judge['instances_left_out'], 'instances')}: {judge['note']}"
            )
            for judge in findings["tuned_judges"]
        ),
        "juries: independent votes that they are worth, and what each member adds": chain(
            *map(_jury, findings["juries"])
        ),
        "do judges prefer their own model's family?": chain(*map(_self_preference, findings["self_preference"])),
        "who answered for judges, and prompts that were probably cut": chain(*map(_provenance, findings["provenance"])),
        "raters to look at; none is left out because of it": map(
            _flagged, [rater for rater in findings["raters"] if rater["flags"]]
        ),
        "changed after rating had begun": map(_amendment, findings["amendments"]),
    }
    blocks += ["\n".join([title, *lines]) for title, part in parts.items() if (lines := list(part))]
    blocks += _first("configurations", [_configuration(configuration) for configuration in findings["configurations"]])
    return "\n\n".join(blocks)


def _first(kind: str, texts: list[str]) -> list[str]:
    """Return the first texts, and a last one that counts the others."""
    more = len(texts) - MOST[kind]
    return (
        [*texts[: MOST[kind]], f"... {more} more {kind}: see --format json, or choose two --systems"]
        if more > 0
        else texts
    )


def _sentence(sentence: dict[str, Any]) -> str:
    return f"[{sentence['plan']}] {sentence['text']}" if "plan" in sentence else str(sentence["text"])


def _configuration(verdicts: dict[str, Any]) -> str:
    lines = [
        _named(verdicts),
        f"  {count(verdicts['instances'], 'instances')}, {count(verdicts['pairs'], 'pairs')}",
    ]
    if "chosen_note" in verdicts:
        lines.append(printable(f"  {verdicts['chosen_note']}"))
    separability = verdicts["separability"]
    lines.append(f"  separability: {separability['similarity'] if separability else verdicts['why']}")
    for rater in verdicts["raters"]:
        lines += [f"  {line}" for line in _rater(rater, verdicts["system_b"], consistent=not has_one_pair([verdicts]))]
    return "\n".join(lines)


def _named(configuration: dict[str, Any]) -> str:
    return printable(f"{configuration['dataset']}: A = {configuration['system_a']}, B = {configuration['system_b']}")


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
    for measure in measures():
        lines += [f"  {name:<25} {estimate_text(estimate)}" for name, estimate in measure.lines(rater)]
    for bin_ in rater["bins"] * consistent:
        mean = estimate_text(bin_["mean_consistency"])
        lines.append(
            f"  separability {fixed(bin_['low'])} to {fixed(bin_['high'])}: "
            f"{count(bin_['instances'], 'instances')}, {mean}"
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
        f"    {name:<25} as drawn {fixed(item['as_drawn'])}, weighted {estimate_text(item)}"
        for name, item in named.items()
    ]


def _ranking(ranking: dict[str, Any]) -> list[str]:
    """Return the systems with their ranks, and what limits the ranking. A blank first column where there is no rank."""
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
                f"    first: {first['system']}, {more} (p {p_text(first['p_value'], '= ')}{adjusted}, against "
                f"{first['against']})"
            )
        )
    if ranking["settled"] is not None and len(ranking["systems"]) > 2:
        lines.append(f"    places settled: {ranking['settled']} of {len(ranking['systems'])}")
    return lines + [
        printable(f"    note: {ranking[key]}") for key in ("note", "caution", "chosen_note") if key in ranking
    ]


def _judge_agreement(agreement: dict[str, Any] | None) -> Iterator[str]:
    """Yield how often judges give the same verdict, all together and every two."""
    if agreement is None or not agreement["judges"]:
        return
    yield f"  all: {estimate_text(agreement['raw_agreement'])}"
    for judge in agreement["judges"]:
        yield printable(f"  {judge['judge_a']} and {judge['judge_b']}: {estimate_text(judge['agreement'])}")


def _verdict(judge: dict[str, Any]) -> str:
    return printable(f"  {judge['judge']}: {judge['verdict']['text']}")


def _rank(row: dict[str, Any]) -> str:
    """Return the rank and its range, as `2 (1-3)`."""
    if row["rank"] is None:
        return ""
    return f"{row['rank']} ({row['rank_low']}-{row['rank_high']})" if row["rank_low"] else str(row["rank"])


def _matrix(matrix: dict[str, Any]) -> list[str]:
    """Return the share that each of more than two systems won against each that it met."""
    systems = matrix["systems"]
    if len(systems) < 3:
        return []
    lines = [f"  {matrix['rater']}, share of verdicts won against each other system, a tie as half"]
    for name, wins, comparisons in zip(systems, matrix["wins"], matrix["comparisons"], strict=True):
        met = [
            f"{system} {won / n:.3f} (n = {n})" for system, won, n in zip(systems, wins, comparisons, strict=True) if n
        ]
        lines.append(f"    {name}: {', '.join(met) or 'never compared'}")
    return list(map(printable, lines))


def _system_tests(tests: list[dict[str, Any]]) -> list[str]:
    """Return the tests of Bradley-Terry ratings. Of two systems the ranking has the only test."""
    lines = []
    tests_listed = [test for test in tests if test["measure"] == "bradley_terry"]
    for rater, tests_of_rater in grouped((item["rater"], item) for item in tests_listed).items():
        lines.append(printable(f"  {rater}, difference of Bradley-Terry ratings"))
        lines += [f"    {_test(item, 'system_a', 'system_b', 0, _met(item['met']))}" for item in tests_of_rater]
    return lines


def _met(met: dict[str, int]) -> str:
    """Say on what two systems were compared directly. The difference rests on all verdicts of the ranking."""
    if not met["verdicts"]:
        return "never compared directly, inferred through other systems"
    return f"n = {count(met['verdicts'], 'verdicts')}, {count(met['instances'], 'instances')}"


def _judge_test(test: dict[str, Any]) -> str:
    return f"  {_test(test, 'judge_a', 'judge_b', 3)}"


def _test(test: dict[str, Any], first: str, second: str, digits: int, n: str = "") -> str:
    line = f"{printable(test[first])} less {printable(test[second])}: {estimate_text(test['difference'], digits, n)}"
    if test["p_value"] is None:
        return line
    adjusted = f", adjusted by Holm's method {p_text(test['adjusted'])}" if test["of"] > 1 else ""
    return f"{line}; p {p_text(test['p_value'], '= ')}{adjusted}"


def _lengths(rater: dict[str, Any]) -> list[str]:
    return [
        f"  {printable(rater['rater'])}",
        *(
            f"    {_named(configuration)}: {estimate_text(configuration['plain'])}; at equal lengths {estimate_text(configuration['win_rate_a'])}"
            f"{_length_effect(configuration)}"
            for configuration in rater["configurations"]
        ),
    ]


def _length_effect(configuration: dict[str, Any]) -> str:
    """Return the log-odds that a longer text adds with their interval, if there are any."""
    value, low, high = (configuration[f"length_effect{end}"] for end in ("", "_low", "_high"))
    interval = "" if low is None else f" [{fixed(low)}, {fixed(high)}]"
    own = "" if value is None else f"; effect of length {fixed(value)}{interval} (log-odds)"
    together = configuration.get("together")
    return own + (
        f"; common effect {fixed(together['length_effect'])}, ridge {together['ridge']:g}" if together else ""
    )


def _jury(jury_row: dict[str, Any]) -> list[str]:
    """Return a jury's independent votes, and its agreement with people less that of the jury without each member."""
    jury = printable(f"  {jury_row['judge']} ({jury_row['rule']} of {', '.join(jury_row['members'])})")
    if "why" in jury_row:
        return [f"{jury}: {jury_row['why']}"]
    return [
        f"{jury}: {estimate_text(jury_row['effective_members'])}",
        *(printable(f"    {each['member']} adds {estimate_text(each['difference'])}") for each in jury_row["without"]),
    ]


def _provenance(provenance: dict[str, Any]) -> list[str]:
    """Return who answered for a judge, with what makes its verdicts doubtful."""
    prompts, other_models = provenance["prompts"], provenance["answered_by_others"]
    lines = [
        f"  {provenance['judge']}: {count(provenance['answers'], 'answers')}{'; MIXED' if provenance['mixed'] else ''}"
    ]
    for origin in provenance["answered_by"]:
        named = [origin["model"] or "a model that is not reported", origin["fingerprint"], origin["provider"]]
        lines.append(f"    {', '.join(filter(None, named))} (asked: {origin['asked']}): {origin['answers']}")
    if other_models:
        lines.append(f"    others: {other_models}")
    if prompts["cut"]:
        lines.append(f"    PROMPTS WERE CUT, probably: {prompts['cut']} of {prompts['counted']}")
    return list(map(printable, lines))


def _self_preference(judge_row: dict[str, Any]) -> list[str]:
    """Return how often the systems of a judge's family win with it and with people, or why that unknown."""
    judge = printable(f"  {judge_row['judge']}")
    if "why" in judge_row:
        return [f"{judge}: unknown ({judge_row['why']})"]
    return [
        f"{judge}: wins of systems of the family {printable(judge_row['family'])}",
        f"    with the judge  {estimate_text(judge_row['with_judge'])}",
        f"    with people     {estimate_text(judge_row['with_people'])}",
        f"    difference      {estimate_text(judge_row['difference'])}",
    ]


def _cycles(matrices: list[dict[str, Any]]) -> list[str]:
    """Return the preference cycles of each rater."""
    return [
        printable(f"  {matrix['rater']}: no order fits all majorities among {', '.join(cycle)}")
        for matrix in matrices
        for cycle in matrix["cycles"]
    ]


def _flagged(row: dict[str, Any]) -> str:
    program = " (a program)" if row["scripted"] else ""
    return printable(f"  {row['rater']}{program}: {' '.join(map(flag_text, row['flags']))}")


def _amendment(amendment: dict[str, str]) -> str:
    entry = f"{amendment['at']}  {amendment['kind']}: {amendment['what']}"
    return printable(
        f"  {entry} (reason: {' '.join(amendment['reason'].split())})" if amendment["reason"] else f"  {entry}"
    )
