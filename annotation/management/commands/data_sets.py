"""`data_sets STUDY [--format text|json]`."""

from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.data_sets import DataSet, data_sets
from annotation.studies.services import find_study


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Count instances, systems, pairs and words in a study's data sets."

    arguments = (
        argument("study", metavar="STUDY", help="the study's slug"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        listed = data_sets(study)
        values = {"study": study.slug, "data_sets": [item.as_row() for item in listed]}
        self.say_result(map(_line, listed), values, options)


def _line(data_set: DataSet) -> str:
    instances = f"{number_of(data_set.instances, 'instance')} ({data_set.gold} with gold)"
    counts = f"{instances}, {number_of(data_set.systems, 'system')}, {number_of(data_set.pairs, 'pair')}"
    lengths = [
        (
            f"{result.n} {name} of {result.mean:.1f} words (median {result.median:g}, {result.shortest} to "
            f"{result.longest})"
        )
        if result.mean is not None
        else f"no {name}"
        for name, result in (("sources", data_set.sources), ("texts", data_set.texts))
    ]
    return f"{data_set.name or 'all'}: {counts}; {'; '.join(lengths)}"
