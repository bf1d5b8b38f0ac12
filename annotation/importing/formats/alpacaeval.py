"""AlpacaEval's files: outputs of systems, and annotations (preferences from 1 to 2 for the second output)."""

from dataclasses import replace

from annotation.core.errors import BadLine
from annotation.core.files import lines
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.lines import FileData
from annotation.core.files.mapping import NOTHING, FieldMapping, read_mapped
from annotation.core.refusals import refusal
from annotation.importing.formats.comparisons import LONGEST_RATER, Comparison, Fields, moment
from annotation.importing.formats.study_file import InstanceRow

OUTPUT = ("instruction", "output", "generator")

# Also as CSV has them.
SWITCHED = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False, "none": None, "": None}
TIES = (0, 1.5)  # as its versions 1 and 2 write them


def read_annotation(fields: Fields, *, dataset: str, people: bool = False) -> list[Comparison]:
    """Read one annotation. `people`: the annotators are people where a record doesn't say."""
    source = _source(fields)
    p_second = _probability(fields)
    systems = fields.name("generator_1"), fields.name("generator_2")
    texts = fields.content("output_1", may_be_blank=True), fields.content("output_2", may_be_blank=True)
    word = str(fields.record.get("is_switched_outputs", False)).lower()
    if word not in SWITCHED:
        fields.refuse("is_switched_outputs", "true, false or null", word[:40])
    switched = SWITCHED.get(word)  # the second one was shown first; None: not known
    verdict = None if p_second is None else (p_second > 0.5) - (p_second < 0.5)
    instance, kind = fields.place(source, dataset, "alpaca"), fields.record.get("rater_kind")
    if kind not in (None, "person", "judge"):
        fields.refuse("rater_kind", "person or judge, or missing", kind)
    instance["system_a"] = instance["system_a"] or systems[0]
    if switched:
        systems, texts = systems[::-1], texts[::-1]
        verdict, p_second = (None, None) if p_second is None or verdict is None else (-verdict, 1 - p_second)
    comparison = Comparison(
        fields.number,
        **instance,
        systems=systems,
        texts=texts,
        rater=fields.name("annotator", longest=LONGEST_RATER, default="annotator"),
        by_judge=not people if kind is None else kind == "judge",
        verdict=verdict,
        p_second=p_second,
        repeat=fields.whole("repeat"),
        rated_at=moment(fields.record.get("rated_at")),
        order_known=switched is not None,  # people who publish no order have shown either first
    )
    return [comparison]


def _probability(fields: Fields) -> float | None:
    """Return the probability of the second output, or None where there is no preference."""
    preference = fields.record.get("preference")
    if isinstance(preference, str) and (number := lines.parse_number(preference or "0")) is not None:  # of CSV
        preference = number if preference else None
    if preference is None:
        return None
    is_number = isinstance(preference, int | float) and not isinstance(preference, bool)
    if not is_number or not (preference == 0 or 1 <= preference <= 2):
        fields.refuse("preference", "from 1 to 2, 0, or null", preference)
        return None
    return 0.5 if preference in TIES else float(preference) - 1


def parse_outputs(
    data: FileData,
    name: str,
    *,
    dataset: str,
    reference: str = "",
    bound: Bound = FOR_COMMANDS,
    mapping: FieldMapping = NOTHING,
) -> list[InstanceRow]:
    """Parse outputs of two or more systems: an instance for each instruction, each system against the reference, which is A.

    reference : the system of the first output, where it is empty
    mapping   : see `annotation.core.files.mapping`
    Raises: BadFile listing the bad lines.
    """
    records, bad = read_mapped(data, mapping)
    rows: dict[str, InstanceRow] = {}
    for count, (number, record) in enumerate(lines.watched(records, bad, "outputs of systems"), start=1):
        bound.refuse_more(name, count, "texts")
        fields = Fields(number, record)
        source, system = _source(fields), fields.name("generator")
        text, instance = fields.content("output", may_be_blank=True), fields.place(source, dataset, "alpaca")
        reference = reference or system
        instance_id = instance["instance_id"]
        row = rows.setdefault(instance_id, InstanceRow(number, instance_id, instance["dataset"], source, {}))
        if system in row.generations:
            fields.problems.append(refusal("second_output", system=repr(system)))
        bad.extend(BadLine(number, problem) for problem in fields.problems)
        row.generations[system] = [text]
    bad += [
        BadLine(row.number, refusal("no_reference", reference=repr(reference)))
        for row in rows.values()
        if reference not in row.generations
    ]
    if not bad and not any(len(row.generations) > 1 for row in rows.values()):
        only = refusal("only_reference", reference=repr(reference)) if rows else refusal("no_rows", what="outputs")
        bad.append(BadLine(1, only))
    lines.refuse(name, bad)
    return [
        replace(row, matchups=tuple((reference, system) for system in row.generations if system != reference))
        for row in rows.values()
    ]


def _source(fields: Fields) -> str:
    input_text = fields.record.get("input")
    if isinstance(input_text, str):
        input_text = fields.text("input", may_be_blank=True)
    source = fields.content("instruction", may_be_blank=bool(input_text))
    return f"{source}\n\n{input_text}".lstrip("\n") if input_text else source
