"""`manage.py table_effect`: what comparison tables change in people's votes, on standard output."""

from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import SEED, StudyCommand, argument
from annotation.models import Study
from reporting.table_effect.arrays import TableEffectFilters
from reporting.table_effect.effects import effect_of
from reporting.table_effect.reading import second_votes
from reporting.table_effect.reasons import all_reasons


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Print the effect of comparison tables: scores before and after, changed votes, differences between arms."

    arguments = (
        argument("--dataset", default="", help="only this data set"),
        argument("--systems", nargs="+", default=[], metavar="SYSTEM", help="only pairs of one or two systems"),
        argument("--batch", action="append", default=[], help="only this batch; may be repeated"),
        argument(
            "--complete-only",
            action="store_true",
            help="only pairs on which all raters in all arms have decided",
        ),
        argument("--reasons", action="store_true", help="also list people's reasons"),
        argument("--format", choices=["text", "json"], default="text"),
        SEED,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        if len(options["systems"]) > 2:
            raise CommandError(f"--systems: a pair has two systems, {len(options['systems'])} are named")
        filters = TableEffectFilters(
            dataset=options["dataset"],
            systems=tuple(options["systems"]),
            batches=tuple(dict.fromkeys(options["batch"])) or None,
            seed=options["seed"],
            complete_only=options["complete_only"],
        )
        votes = second_votes(study, filters)
        numbers = effect_of(study.slug, votes, filters, is_two_stage=study.is_two_stage)
        if options["reasons"]:
            numbers["reasons"] = list(all_reasons(votes))
        self.say_numbers(numbers, options["format"])
