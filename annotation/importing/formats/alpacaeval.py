"""AlpacaEval's files: outputs of systems, and annotations (preferences from 1 to 2 for the second output)."""

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.lines import FileData
from annotation.core.files.mapping import NOTHING, FieldMapping, read_mapped
from annotation.core.refusals import refusal
from annotation.importing.formats.comparisons import LONGEST_RATER, Comparison, Fields, Read
from annotation.importing.formats.study_file import LONGEST_SYSTEM, InstanceRow

OUTPUT = ("instruction", "output", "generator")

# Also as CSV has them.
SWITCHED = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False, "none": None, "": None}
TIES = (0, 1.5)  # as its versions 1 and 2 write them


def reader(*, dataset: str, people: bool) -> Read:
    """Return what reads one annotation. `people`: the annotators are people where a record doesn't say."""

    def read(fields: Fields) -> list[Comparison]:
        source = _source(fields)
        preference = fields.record.get("preference")
        if isinstance(preference, str) and (number := lines.parse_number(preference or "0")) is not None:  # of CSV
            preference = number if preference else None
        if preference is not None and not _is_preference(preference):
            fields.problems.append(
                refusal("not_one_of", field="preference", words="from 1 to 2, 0, or null", value=repr(preference))
            )
            preference = None
        p_second = None if preference is None else 0.5 if preference in TIES else float(preference) - 1
        systems = [fields.name(f"generator_{index}", longest=LONGEST_SYSTEM) for index in (1, 2)]
        texts = [fields.content(f"output_{index}", may_be_blank=True) for index in (1, 2)]
        said = str(fields.record.get("is_switched_outputs", False)).lower()
        if said not in SWITCHED:
            fields.problems.append(
                refusal("not_one_of", field="is_switched_outputs", words="true, false or null", value=repr(said[:40]))
            )
        switched = SWITCHED.get(said)  # the second one was shown first; None: not known
        first, second = (1, 0) if switched else (0, 1)
        verdict = None if p_second is None else (p_second > 0.5) - (p_second < 0.5)
        instance, kind = fields.place(source, dataset, "alpaca"), fields.record.get("rater_kind")
        if kind not in (None, "person", "judge"):
            fields.problems.append(
                refusal("not_one_of", field="rater_kind", words="person or judge, or missing", value=repr(kind))
            )
        return [
            Comparison(
                fields.number,
                **{**instance, "system_a": instance["system_a"] or systems[0]},
                systems=(systems[first], systems[second]),
                texts=(texts[first], texts[second]),
                rater=fields.name("annotator", longest=LONGEST_RATER, default="annotator"),
                by_judge=not people if kind is None else kind == "judge",
                verdict=-verdict if switched and verdict is not None else verdict,
                p_second=1 - p_second if switched and p_second is not None else p_second,
                repeat=fields.whole("repeat"),
                rated_at=fields.moment(fields.record.get("rated_at")),
                # Null: not known; people who publish no order have shown either first.
                order_known=switched is not None,
            )
        ]

    return read


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
    absent = lines.AbsentFields("outputs of systems")
    for count, (number, record) in enumerate(absent.watch(records), start=1):
        if len(bad) >= MOST_BAD_LINES:
            break
        bound.refuse_more(name, count, "texts")
        fields = Fields(number, record)
        source, system = _source(fields), fields.name("generator", longest=LONGEST_SYSTEM)
        text, instance = fields.content("output", may_be_blank=True), fields.place(source, dataset, "alpaca")
        reference = reference or system
        row = rows.setdefault(
            instance["instance_id"], InstanceRow(number, instance["instance_id"], instance["dataset"], source, {})
        )
        if system in row.generations:
            fields.problems.append(refusal("second_output", system=repr(system)))
        bad.extend(BadLine(number, problem) for problem in fields.problems)
        row.generations[system] = [text]
    bad.extend(
        BadLine(row.number, refusal("no_reference", reference=repr(reference)))
        for row in rows.values()
        if reference not in row.generations
    )
    if not bad and not any(len(row.generations) > 1 for row in rows.values()):
        bad.append(
            BadLine(
                1,
                refusal("only_reference", reference=repr(reference)) if rows else refusal("no_rows", what="outputs"),
            )
        )
    lines.refuse(name, absent.summarised(bad))
    return [
        InstanceRow(
            row.number, row.instance_id, row.dataset, row.source, row.generations,
            matchups=tuple((reference, system) for system in row.generations if system != reference),
        )
        for row in rows.values()
    ]  # fmt: skip


def _source(fields: Fields) -> str:
    input_text = fields.record.get("input")
    source = fields.content("instruction", may_be_blank=bool(input_text))
    return f"{source}\n\n{input_text}".lstrip("\n") if input_text else source


def _is_preference(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and (value == 0 or 1 <= value <= 2)
