"""`data_sets STUDY [--format text|json]`."""

from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.data_sets import DataSet, data_sets
from annotation.studies.services import find_study


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Count the instances, texts and pairs of a study's data sets, and the words of their sources and texts."

    arguments = (
        argument("study", metavar="STUDY", help="the study's slug"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        found = data_sets(study)
        values = {"study": study.slug, "data_sets": [one.as_row() for one in found]}
        self.say_result(map(_line, found), values, options)


def _line(one: DataSet) -> str:
    held = f"{number_of(one.instances, 'instance')} ({one.gold} with gold)"
    counts = f"{held}, {number_of(one.systems, 'system')}, {number_of(one.pairs, 'pair')}"
    lengths = [
        f"{found.n} {name} of {found.mean:.1f} words (median {found.median:g}, {found.shortest} to {found.longest})"
        if found.mean is not None
        else f"no {name}"
        for name, found in (("sources", one.sources), ("texts", one.texts))
    ]
    return f"{one.name or 'all'}: {counts}; {'; '.join(lengths)}"
