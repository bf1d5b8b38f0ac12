"""Pictures of agreement, of position, and of what raters confuse."""

from collections import Counter
from collections.abc import Iterator

from reporting.core.charts import (
    MAX_NAME_LENGTH,
    Findings,
    Spec,
    column_spec,
    empty_chart,
    first_of,
    padded,
    quantity,
    shares,
    short_names,
    shorten,
    with_look,
)
from reporting.core.raters import PEOPLE
from reporting.core.reasons import ALL_TIES
from reporting.core.text import rater_name
from reporting.core.themes import SHAPES, THEMES
from reporting.findings.charts.cells import ShadedCell, cells_body
from reporting.findings.charts.common import (
    SUBJECT,
    configuration_notes,
    interval_notes,
    rater_look,
    rater_names,
    study_notes,
    title_of,
)
from reporting.findings.charts.dots import HALF, dot_rows, dots_picture, point
from reporting.findings.charts.separability import curve_body
from reporting.findings.reasons import NO_VERDICT

MAX_RATERS, MAX_PEOPLE = 8, 30
MAX_NAMED = 8  # configurations; the table has more
LONGEST_PERSON = 16  # characters; with more, 100 would not fit into a cell
RELIABLE = {"Eρ²": "relative", "error, 100 instances": "100"}
CLASSES = {"a": "A", "tie": "=", "b": "B"}  # words would not fit into cells


def with_more_raters(findings: Findings, theme: str) -> Spec:
    """Curves: reliability of the mean rating, and the standard error of the win rate, by number of raters."""
    title, generalizability = "With more raters", findings["pooled"].get("generalizability") or {"curve": []}
    if not generalizability["curve"] or not generalizability["components"]["instance"]:
        return empty_chart(title, "no variance between instances can be estimated", theme)
    errors = {"value": None, "low": None, "high": None}
    rows = [
        with_look({"rater": name, "raters": row["raters"], **point("", "", estimate)}, look)
        for (name, key), look in zip(RELIABLE.items(), zip(THEMES[theme].series, SHAPES, strict=True), strict=False)
        for row in generalizability["curve"]
        for estimate in [row[key] if key in row else {**errors, "value": row["standard_error"][key]}]
    ]
    most = max(row["raters"] for row in rows)
    x = quantity("raters", "Raters of an instance", **padded((0, most)))
    y = quantity("value", "Eρ², and standard error", **shares(".1f"))
    notes = [*interval_notes(findings, [row["relative"] for row in generalizability["curve"]]), *study_notes(findings)]
    return column_spec(curve_body(rows, x, y), [title], notes, theme)


def people_agreement(findings: Findings, theme: str) -> Spec:
    """Points: raw agreement and ordinal alpha of people, over all configurations, and in each of a few."""
    title = f"Agreement between {findings[SUBJECT]}"
    series = ["raw agreement", "Krippendorff’s α"]
    named = [(name, item["raters"][0]) for name, item in _names(findings)]
    if len(named) > 1 and (pooled := findings["pooled"]["people_agreement"]):
        named = [("all together", pooled), *(named if len(named) < MAX_NAMED else ())]
    rows = [
        row
        for name, people in named
        for row in (
            point(name, series[0], people["raw_agreement"]),
            point(name, series[1], people["krippendorff_alpha"]["ordinal"]),
        )
        if row["value"] is not None
    ]
    colour, shape = rater_look(findings, PEOPLE, theme)
    looks, marks = [(colour, shape), (colour, "diamond")], [(0, False), (1, False)]
    axis, why = "Agreement (α: 0 is chance, 1 full)", "no pair has ratings of two people"
    return dots_picture(findings, [title], rows, series, axis, theme, why=why, looks=looks, marks=marks)


def position(findings: Findings, theme: str) -> Spec:
    """Points: the share of verdicts for the text shown first over all configurations, by rater."""
    shares = sorted(findings["pooled"]["preferred_first"], key=_by_bias)
    by_rater = {row["rater"]: row for row in shares}
    rows = [
        point(name, "", by_rater[rater], rater_look(findings, rater, theme))
        for rater, name in rater_names(findings, by_rater, MAX_NAME_LENGTH).items()
        if by_rater[rater]["value"] is not None
    ]
    title = "Preference for the text shown first"
    if not rows:
        codes = {row["why_code"] for row in by_rater.values()}
        return empty_chart(title, (ALL_TIES if ALL_TIES.code in codes else NO_VERDICT).text, theme)
    axis = "Share for the text shown first"
    body, about_rows = dot_rows(rows, [""], axis, theme, by_value=True, **HALF)
    notes = [
        *interval_notes(findings, rows),
        "ties left out",
        "dashed: no bias",
        *(["judges with a bias, then those furthest from half"] * (len(body["data"]["values"]) < len(rows))),
        *about_rows,
        *study_notes(findings),
    ]
    return column_spec(body, [title], notes, theme)


def _by_bias(share: Findings) -> tuple[bool, bool, float]:
    """Return a key that sorts people first, then biased judges, then the shares furthest from half."""
    return share["rater"] != PEOPLE, not share.get("biased"), -abs((share["value"] or 0.5) - 0.5)


def _names(findings: Findings) -> list[tuple[str, Findings]]:
    """Return the configurations with a name: the data set's, where no two have the same."""
    sets = Counter(configuration["dataset"] for configuration in findings["configurations"])
    return [
        (
            configuration["dataset"]
            if sets[configuration["dataset"]] == 1
            else f"{configuration['system_a']} / {configuration['system_b']}, {configuration['dataset']}",
            configuration,
        )
        for configuration in findings["configurations"]
    ]


def majority_confusion(findings: Findings, theme: str) -> Spec:
    """Coloured cells: each rater's verdicts where the majority of the (other) people says A, tie or B."""
    raters = [rater for rater in findings["raters"] if rater["confusion"]["n"]]
    if not raters:
        return empty_chart(title_of(findings), findings["raters"][0]["confusion"]["why"], theme)
    names_drawn, more = first_of([rater["rater"] for rater in raters], MAX_RATERS)
    names = rater_names(findings, names_drawn, 12)
    cells = [
        cell
        for rater in raters
        if rater["rater"] in names
        for cell in _majority_cells(rater, names[rater["rater"]], _scale(findings, rater["rater"], theme))
    ]
    empty = any(not sum(row.values()) for rater in raters for row in rater["confusion"]["by_majority"].values())
    left_out = sum(rater["confusion"]["excluded"] for rater in raters if rater["rater"] in names)
    notes = [
        "=: tie",
        "rows: what the majority of people says, for people that of the others; columns: what the rater says",
        *(["empty: no such pair"] if empty else []),
        f"left out, for want of a majority beside them: {left_out}",
        *more,
        *configuration_notes(findings),
    ]
    meaning = (
        "What raters say where the majority of people says A, tie or B, in percent of the row; below it, how often"
    )
    body = cells_body(
        cells,
        rows=list(CLASSES.values()),
        columns=list(CLASSES.values()),
        titles=("majority", "verdict"),
        panels=list(dict.fromkeys(cell.panel for cell in cells)),
        two=True,
        count="count",
    )
    return column_spec(body, [title_of(findings), meaning], notes, theme)


def _majority_cells(findings: Findings, name: str, colours: tuple[str, str]) -> Iterator[ShadedCell]:
    for majority, row in findings["confusion"]["by_majority"].items():
        n = sum(row.values())
        for verdict, count in row.items() if n else ():
            values = {
                "rater": rater_name(findings["rater"]),
                "majority": majority,
                "verdict": verdict,
                "count": count,
                "n": n,
            }
            panel = f"{name} (n = {findings['confusion']['n']})"
            yield ShadedCell(panel, CLASSES[majority], CLASSES[verdict], count / n, colours, values)


def people_confusion(findings: Findings, theme: str) -> Spec:
    """Coloured cells: each person's votes where the model of Dawid and Skene says A, tie or B."""
    title, model = "How each person rates, by the model", findings["dawid_skene"]
    if not model["people"]:
        return empty_chart(title, model["why"], theme)
    colours = _scale(findings, PEOPLE, theme)
    by_ratings = sorted(model["people"], key=lambda person: (-person["ratings"], person["rater"]))
    names_drawn, more = first_of([person["rater"] for person in by_ratings], MAX_PEOPLE)
    names = short_names(names_drawn, LONGEST_PERSON)
    labels = {
        person["rater"]: f"{names[person['rater']]} ({person['ratings']})"
        for person in by_ratings
        if person["rater"] in names
    }
    cells = [
        ShadedCell(
            f"model: {CLASSES[true]}",
            labels[person["rater"]],
            CLASSES[verdict],
            share,
            colours,
            {"rater": shorten(person["rater"]), "true": true, "vote": verdict, "n": person["rated"][true]},
        )
        for person in by_ratings
        if person["rater"] in labels
        for true, row in zip(CLASSES, person["confusion"], strict=True)
        if row is not None
        for verdict, share in zip(CLASSES, row, strict=True)
    ]
    body = cells_body(
        cells,
        rows=list(labels.values()),
        columns=list(CLASSES.values()),
        titles=("person", "rating"),
        panels=[f"model: {class_}" for class_ in CLASSES.values()],
        side_by_side=True,
    )
    notes = [
        "=: tie",
        "in brackets: ratings",
        "empty: next to no pair of the kind",
        *more,
        *study_notes(findings),
    ]
    meaning = "share of a person’s ratings, in percent, where the model of Dawid and Skene says A, tie or B"
    return column_spec(body, [title, meaning], notes, theme)


def _scale(findings: Findings, rater: str, theme: str) -> tuple[str, str]:
    return THEMES[theme].background, rater_look(findings, rater, theme)[0]
