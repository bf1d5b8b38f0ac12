"""`manage.py table_effect`: what comparison tables change in people's votes, on standard output."""

from functools import partial
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.services import find_study
from reporting.table_effect.arrays import TableEffectFilters
from reporting.table_effect.effects import effect_of
from reporting.table_effect.reading import second_votes
from reporting.table_effect.reasons import all_reasons
from reporting.table_effect.text import as_text


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "Print the effect of comparison tables: scores before and after, changed votes, differences between arms."

    arguments = (
        argument("slug", help="the study"),
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
        argument("--seed", type=int, default=0, help="seed of the intervals' resamples (default: 0)"),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        if options["seed"] < 0:
            raise CommandError(f"--seed {options['seed']}: a seed is 0 or more")
        if len(options["systems"]) > 2:
            raise CommandError(f"--systems: a pair has two systems, {len(options['systems'])} are named")
        study = find_study(slug)
        filters = TableEffectFilters(
            dataset=options["dataset"],
            systems=tuple(options["systems"]),
            batches=tuple(dict.fromkeys(options["batch"])) or None,
            seed=options["seed"],
            complete_only=options["complete_only"],
        )
        votes = second_votes(study, filters)
        numbers = effect_of(slug, votes, filters, is_two_stage=study.is_two_stage)
        reasons = list(all_reasons(votes)) if options["reasons"] else []
        if options["reasons"] and options["format"] == "json":
            numbers["reasons"] = reasons
        self.say_numbers(numbers, options["format"], partial(as_text, reasons=reasons))
