"""AlpacaEval's annotations: an instruction, two outputs with their generators, and a preference for the second of 1 to 2."""

from annotation.importing.formats.comparisons import Comparison, Fields, Read
from annotation.importing.formats.study_file import LONGEST_SYSTEM

TIES = (0, 1.5)  # as its versions 1 and 2 write them


def reader(*, dataset: str, people: bool) -> Read:
    """Return what reads one annotation; `people`: the annotators are people, not judges."""

    def read(fields: Fields) -> list[Comparison]:
        source = fields.text("instruction")
        if given := fields.record.get("input"):
            source = f"{source}\n\n{given}"
        preference = fields.record.get("preference")
        if preference is not None and not _is_preference(preference):
            fields.problems.append(f"preference is {preference!r}; it must be from 1 to 2, 0, or null")
            preference = None
        p_second = None if preference is None else 0.5 if preference in TIES else float(preference) - 1
        systems = [fields.text(f"generator_{place}", longest=LONGEST_SYSTEM) for place in (1, 2)]
        texts = [fields.text(f"output_{place}", may_be_blank=True) for place in (1, 2)]
        switched = fields.record.get("is_switched_outputs") is True  # the second one was shown first
        first, second = (1, 0) if switched else (0, 1)
        verdict = None if p_second is None else (p_second > 0.5) - (p_second < 0.5)
        place = fields.place(source, dataset, "alpaca")
        return [
            Comparison(
                fields.number,
                **{**place, "system_a": place["system_a"] or systems[0]},
                systems=(systems[first], systems[second]),
                texts=(texts[first], texts[second]),
                rater=fields.text("annotator", default="annotator"),
                by_judge=not people,
                verdict=-verdict if switched and verdict is not None else verdict,
                p_second=1 - p_second if switched and p_second is not None else p_second,
                repeat=fields.whole("repeat"),
                rated_at=fields.moment(fields.record.get("rated_at")),
            )
        ]

    return read


def _is_preference(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and (value == 0 or 1 <= value <= 2)
