"""The section on rankings: each rater's ranking, who beats whom, and tests between systems."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from annotation.core.counting import counted, fixed, number_of, printable
from annotation.core.database.aggregates import grouped
from annotation.core.tables import PERCENT, POINTS, Cell, Column, DataTable, Row, percents
from reporting.core.raters import PEOPLE
from reporting.core.text import rater_name, subject
from reporting.findings.answer.statements import leading_system, mirrored, side
from reporting.findings.reasons import TESTS_PENDING, UNEQUAL
from reporting.findings.sections.data_table import LEAST_P, adjusted_heading, p_text
from reporting.findings.sections.titles import Title, lowest_and_highest, rater_subject

Findings = Mapping[str, Any]
MOST_RANKED, MOST_IN_MATRIX = 200, 20  # systems; all are in the JSON
SHADES = 5
WINS = "Who beats whom: share of wins of the system in the row, ties as half"
MOST_NAMED = 10  # systems in a sentence
MOST_BESIDE = 4  # judges beside each other
MEASURES = {  # heading and unit; scores without one have no decimals
    "bradley_terry": ("Bradley–Terry", ""),
    "sep_bradley_terry": ("SEP-Bradley–Terry", ""),
    "elo": ("Elo", ""),
    "sep_elo": ("SEP-Elo", ""),
    "win_rate": ("Win rate", PERCENT),
    "win_loss_rate": ("Wins less losses", POINTS),
}


def rankings_section(numbers: Findings) -> dict[str, Any]:
    """Return one object per rater, people first, and the table of win rates at equal lengths."""
    tests = grouped((test["rater"], test) for test in numbers["system_tests"])
    matrices = {matrix["rater"]: matrix for matrix in numbers["win_matrices"]}
    by_rater = grouped((ranking["rater"], ranking) for ranking in numbers["rankings"])
    if not _has_comparisons(by_rater.get(PEOPLE, [])) and any(map(_has_comparisons, by_rater.values())):
        by_rater.pop(PEOPLE, None)  # judges alone rated
    people = subject(numbers["configurations"])
    judges = _tested_judges(by_rater, numbers.get("baselines") or ())
    raters = [
        _rater(at, rankings, matrices[name], tests.get(name, []), people, len(judges) if name in judges else 0)
        for at, (name, rankings) in enumerate(by_rater.items())
    ]
    return {
        "raters": raters,
        "people": people,
        "table": _main_table(by_rater, raters, people, leading_system(numbers)) if raters else None,
        "title": _title(by_rater.get(PEOPLE, []), people)
        if PEOPLE in by_rater
        else _judges_title(by_rater, leading_system(numbers)),
    }


def _tested_judges(by_rater: Mapping[str, list[Findings]], baselines: Collection[str]) -> list[str]:
    """Return the judges whose first system is tested. Baselines count only where there is no other judge, as in the answer."""
    judges = [name for name in by_rater if name != PEOPLE]
    models = [name for name in judges if rater_name(name) not in baselines]
    return [name for name in models or judges if _main(by_rater[name])["first"].get("p_value") is not None]


def _main(rankings: list[Findings]) -> Findings:
    named = {ranking["measure"]: ranking for ranking in rankings}
    return named.get("bradley_terry", named["win_rate"])


def _main_table(
    by_rater: Mapping[str, list[Findings]], raters: list[dict[str, Any]], people: str, shown: str | None
) -> DataTable:
    """Return the table of people, or else of the first judge. Of two systems there is one number for each rater."""
    table: DataTable = raters[0]["table"]
    if len(table.rows) == 2:
        return _rates_by_rater(by_rater, people, shown)
    if raters[0]["is_people"] or len(raters) == 1:
        return table
    listed = raters[:MOST_BESIDE]
    rates = [
        {
            row["system"]: row
            for ranking in by_rater[rater["rater"]]
            if ranking["measure"] == "win_rate"
            for row in ranking["systems"]
        }
        for rater in listed
    ]
    ranks = [{head[0]: cells[0] for head, cells in rater["table"].rows} for rater in listed]
    rows: list[Row] = [
        (
            head,
            [{**rate[head[0]], "about": f"rank {rank[head[0]]}"} for rate, rank in zip(rates, ranks, strict=True)],
        )
        for head, _cells in raters[0]["table"].rows
    ]
    more = "" if len(raters) == len(listed) else " (other judges: under Details)"
    columns = ["System", *percents(*(rater_name(rater["rater"]) for rater in listed))]
    return DataTable("ranking-by-judge", f"Win rates by judge, with ranks{more}", columns, rows, most=MOST_RANKED)


def _rates_by_rater(by_rater: Mapping[str, list[Findings]], people: str, shown: str | None) -> DataTable:
    """Return each rater's win rate of one of two systems."""
    rates = {
        name: ranking for name, rankings in by_rater.items() for ranking in rankings if ranking["measure"] == "win_rate"
    }
    first = shown or next(iter(rates.values()))["systems"][0]["system"]
    rows: list[Row] = []
    for name, ranking in rates.items():
        rate = next(row for row in ranking["systems"] if row["system"] == first)
        cells = [{**rate, "about": _uneven_text(rate)}, rate["n"], rate["n_instances"]]
        rows.append(((people if name == PEOPLE else rater_name(name),), cells))
    columns = ["Rater", *percents(f"Win rate of {first}"), "Verdicts", "Instances"]
    return DataTable("ranking-0", f"How often {first} wins, a tie counting as half", columns, rows)


def _has_comparisons(rankings: list[Findings]) -> bool:
    return any(row["value"] is not None for ranking in rankings for row in ranking["systems"])


def _title(rankings: list[Findings], people: str) -> Title:
    """Claim a preference for one of two systems by its interval, and a first of more by Holm's p-value."""
    named = {ranking["measure"]: ranking for ranking in rankings}
    rates = named["win_rate"]["systems"] if named else []
    if len(rates) > 2:
        main = named.get("bradley_terry", named["win_rate"])
        first = main["first"]
        values = {"people": people, "systems": len(rates), "first": first["system"], "settled": main["settled"]}
        return Title(
            "first" if first["by_more_than_chance"] else "ranking" if main["settled"] is None else "places", values
        )
    if not rates or rates[0]["value"] is None:
        return Title("rankings", {})
    values = {"people": people, "first": rates[0]["system"], "second": rates[-1]["system"], "rate": rates[0]}
    return Title("preferred" if side(rates[0]) == 1 else "win_rate", values)


def _judges_title(by_rater: Mapping[str, list[Findings]], shown: str | None) -> Title:
    """Return the range of the judges' win rates of one of two systems, or what is ranked."""
    rates = [ranking for rankings in by_rater.values() for ranking in rankings if ranking["measure"] == "win_rate"]
    rows = [
        row for ranking in rates for row in ranking["systems"] if row["system"] == shown and row["value"] is not None
    ]
    if len(rows) > 1:
        return Title("rates_by_judge", {"first": shown, **lowest_and_highest(rows)})
    if rows:
        second = next(row["system"] for row in rates[0]["systems"] if row["system"] != shown)
        people = rater_subject(rates[0]["rater"], "")
        return Title("win_rate", {"people": people, "first": shown, "second": second, "rate": rows[0]})
    systems = max((len(ranking["systems"]) for ranking in rates), default=0)
    return (
        Title("ranking", {"people": counted(len(by_rater), "judges"), "systems": systems})
        if systems
        else Title("rankings", {})
    )


def _rater(
    at: int, rankings: list[Findings], matrix: Findings, tests: list[Findings], people: str, judges: int = 0
) -> dict[str, Any]:
    named, main = {ranking["measure"]: ranking for ranking in rankings}, _main(rankings)
    order = [row["system"] for row in main["systems"]]
    rates = named["win_rate"]
    rate_of = {row["system"]: row for row in rates["systems"]}
    measures = [rates] if main is rates else [rates, main]
    rows: list[Row] = [
        (
            (row["system"],),
            [
                rank_text(row),
                _without_n(rates, rate_of[row["system"]]),
                *([] if main is rates else [_without_n(main, row)]),
                rate_of[row["system"]]["n"],
                rate_of[row["system"]]["n_instances"],
            ],
        )
        for row in main["systems"]
    ]
    rater = people if main["rater"] == PEOPLE else f"judge “{printable(rater_name(main['rater']))}”"
    caption = f"Ranking by {rater}; ranks with their range"
    columns = ["System", "Rank", *map(_heading, measures), "Verdicts", "Instances"]
    groups = "; ".join(", ".join(group) for group in main.get("groups", ()))
    listed = [f"Groups that were never compared, each with ranks of its own: {groups}."] if groups else []
    reasons = {MEASURES[item["measure"]][0]: _why_no_interval(item) for item in (named["win_rate"], main)}
    without = [f"{name}: {why}." for name, why in reasons.items() if why]
    return {
        "rater": main["rater"],
        "is_people": main["kind"] == "person",
        "first": first_text(main, judges),
        "table": DataTable(f"ranking-{at}", caption, columns, rows, most=MOST_RANKED),
        "notes": [*listed, *([f"{main['note'].capitalize()}."] if "note" in main else []), *without],
        "others": _other_rankings(
            at, main, [named[name] for name in MEASURES if name in named and named[name] is not main]
        ),
        "matrix": _matrix(at, matrix, order) if len(order) > 2 else None,
        "cycles": [named_together(cycle, len(order)) for cycle in matrix["cycles"]],
        "tests": _tests_table(at, tests, order),
        "settled": _settled_text(main),
    }


def first_text(ranking: Findings, judges: int = 0) -> str:
    """Say which system is first, with the test that says so.

    judges : with tests of their own, for which this one is not corrected
    """
    first = ranking["first"]
    if first["system"] is None:
        return f"No clear winner: {first['why']}."
    if first.get("why_code") == TESTS_PENDING.code:
        return f"{first['system']} leads; the test is being computed."
    if first["by_more_than_chance"] is None:
        return f"{first['system']} leads; it cannot be tested: {first['why']}."
    p = tested_p_text(first.get("p_value"), ranking["tests"]["of"])
    p += f" before correction for {counted(judges, 'judges')}" if judges > 1 else ""
    against = f", against {first['against']}" if first.get("against") else ""
    result = "is first" if first["by_more_than_chance"] else "leads, which may be chance"
    return f"{first['system']} {result} ({p}{against})."


def named_together(systems: Sequence[str], of: int) -> str:
    """Name some systems, or say how many they are of all."""
    if len(systems) <= MOST_NAMED:
        return ", ".join(systems)
    return f"all {of} systems" if len(systems) == of else f"{len(systems)} of {of} systems"


def tested_p_text(p_value: float | None, tests: int) -> str:
    """Return a p-value for a sentence, and how it was adjusted where it is one of several tests."""
    p = "—" if p_value is None else f"< {fixed(LEAST_P, 3)}" if p_value < LEAST_P else f"= {fixed(p_value, 3)}"
    return f"p\N{NO-BREAK SPACE}{p}" if tests < 2 else f"p {p}, adjusted by Holm’s method"


def _without_n(ranking: Findings, row: Findings) -> dict[str, Any]:
    """Return the cell of a value whose n has a column, without a reason that is that of all rows."""
    alike = {"why": ""} if _why_no_interval(ranking) and row["value"] is not None else {}
    return {**_cell(ranking, row), "about": _uneven_text(row), **alike}


def _uneven_text(row: Findings) -> str:
    """Say why an interval is wide where few instances have most of the verdicts."""
    return f"as wide as {row['effective_n']:.1f} instances of equal size" if "effective_n" in row else ""


def _why_no_interval(ranking: Findings) -> str:
    """Return the reason why no system has an interval, if it is the same for all."""
    reasons = {row["why"] if row["low"] is None else "" for row in ranking["systems"] if row["value"] is not None}
    return str(reasons.pop()) if len(reasons) == 1 else ""


def _other_rankings(at: int, main: Findings, others: list[Findings]) -> dict[str, Any]:
    """Return the other rankings as a table, with the reason where one has another order or no value."""
    without = [ranking for ranking in others if not _order(ranking)]  # whose reason stands once, not in each row
    scored = [ranking for ranking in others if ranking["measure"] != "win_rate" and ranking not in without]
    columns = [
        {
            row["system"]: {
                **_cell(ranking, row),
                "about": f"rank {rank_text(row)}{', not tested' * (row['rank'] is not None and row['rank_low'] is None)}",
            }
            for row in ranking["systems"]
        }
        for ranking in scored
    ]
    rows: list[Row] = [((row["system"],), [column[row["system"]] for column in columns]) for row in main["systems"]]
    order = _order(main)
    notes = []
    for ranking in others:
        name, own = MEASURES[ranking["measure"]][0], _order(ranking)
        moved = sum(
            first != second
            for first, second in zip(
                [system for system in order if system in own],
                [system for system in own if system in order],
                strict=True,
            )
        )
        if "why" in ranking or ranking in without:
            notes.append(f"{name}: {ranking.get('why') or ranking['systems'][0]['why']}.")
        elif moved:
            reason = ranking.get("caution", "it weights instances by separability")
            notes.append(f"{name} places {moved} of {len(order)} systems differently: {reason}.")
        if "note" in ranking and ranking["note"] != main.get("note"):
            notes.append(f"{name}: {ranking['note']}.")
    table = DataTable(
        f"other-rankings-{at}", "Other rankings", ["System", *map(_heading, scored)], rows, most=MOST_RANKED
    )
    return {"table": table, "notes": notes}


def _order(ranking: Findings) -> list[str]:
    return [row["system"] for row in ranking["systems"] if row["value"] is not None]


def _cell(ranking: Findings, row: Findings) -> dict[str, Any]:
    return {**row, "digits": 1 if MEASURES[ranking["measure"]][1] else 0}


def _heading(ranking: Findings) -> Column:
    depends = " (depends on opponents)" if ranking["first"].get("why_code") == UNEQUAL.code else ""
    label, unit = MEASURES[ranking["measure"]]
    return Column(f"{label}{depends}", unit=unit)


def rank_text(row: Findings) -> str:
    """Return a rank with its range, where that is wider."""
    if row["rank"] is None:
        return "—"
    low, high = row["rank_low"] or row["rank"], row["rank_high"] or row["rank"]
    return (
        f"{row['rank']}\N{NO-BREAK SPACE}({low}\N{WORD JOINER}–\N{WORD JOINER}{high})"
        if low != high
        else str(row["rank"])
    )


def _matrix(at: int, matrix: Findings, order: list[str]) -> DataTable:
    """Return each system's share of wins against each other one. The best systems in the order of the ranking."""
    codes = {name: index for index, name in enumerate(matrix["systems"])}
    systems = order[:MOST_IN_MATRIX]
    rows: list[Row] = []
    for system in systems:
        wins, played = (matrix[key][codes[system]] for key in ("wins", "comparisons"))
        met = [(wins[codes[opponent]], played[codes[opponent]]) for opponent in systems]
        rows.append(((system,), [_share_of_wins(won, n) if n else None for won, n in met]))
    columns, cut = ["System", *percents(*systems)], len(order) - len(systems)
    return DataTable(f"matrix-{at}", WINS, columns, rows, beyond=cut, beyond_columns=cut, css="matrix")


def _share_of_wins(won: float, n: int) -> Cell:
    """Return a cell whose shade grows with a share above one half."""
    share = won / n
    shade = min(SHADES, round((share - 0.5) * 2 * SHADES))
    estimate = {"value": share, "low": None, "about": f"n = {n}", "why": "", "digits": 0}
    return Cell(estimate, {"class": f"shade-{shade}"} if shade > 0 else {})


def _tests_table(at: int, tests: list[Findings], order: list[str]) -> DataTable | None:
    """Return the tests of Bradley-Terry ratings. Of two systems the ranking has the only test."""
    if not tests or tests[0]["measure"] != "bradley_terry":
        return None
    ranked, several = {name: index for index, name in enumerate(order)}, tests[0]["of"] > 1
    rows: list[Row] = []
    for test_row in sorted(tests, key=lambda test: sorted(ranked[test[key]] for key in ("system_a", "system_b"))):
        better, worse, difference = test_row["system_a"], test_row["system_b"], test_row["difference"]
        if ranked[better] > ranked[worse]:
            better, worse, difference = worse, better, mirrored(difference, 0)
        p_values = [p_text(test_row["p_value"]), *([p_text(test_row["adjusted"])] if several else [])]
        rows.append(((better, worse), [{**difference, "digits": 0, "about": _met_text(test_row)}, *p_values]))
    caption = (
        "Tests between systems, over instances; the difference is above 0 where the first system is the better one. All "
        "verdicts of the ranking count in it; n is of those on the two systems"
    )
    headings = ["Better placed", "Other system", "Difference of Bradley–Terry ratings", "p"]
    return DataTable(f"tests-{at}", caption, headings + [adjusted_heading(tests[0]["of"])] * several, rows)


def _met_text(test: Findings) -> str:
    """Say on what two systems were compared directly."""
    met = test.get("met")
    if met is None:  # of findings that were kept earlier
        return ""
    if not met["verdicts"]:
        return "never compared directly: inferred through other systems"
    return f"n = {counted(met['verdicts'], 'verdicts')}; {counted(met['instances'], 'instances')}"


def _settled_text(ranking: Findings) -> str:
    """Say how many places of more than two are settled: those of the systems whose range of ranks is one rank."""
    systems, tests = len(_order(ranking)), ranking["tests"]["of"]
    if systems < 3 or ranking.get("settled") is None:
        return ""
    places = f"{ranking['settled']} of {systems} places {'is' if ranking['settled'] == 1 else 'are'} settled"
    return f"{places} (tests of {number_of(tests, 'pair')} of systems, adjusted by Holm’s method)."
