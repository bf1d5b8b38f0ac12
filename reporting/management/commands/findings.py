"""`manage.py findings`: the numbers of a study on standard output."""

from typing import Any, get_args

from django.core.management.base import CommandError

from analysis.ranking.bradley_terry import Ties
from annotation.management.commands._base import TandemCommand, argument
from annotation.studies.outcomes import batches_named
from annotation.studies.services import find_study
from reporting.findings.asked import epsilon_named, judges_named, similarity_named
from reporting.findings.study_findings import findings
from reporting.findings.text import as_text


class Command(TandemCommand):
    help = "Print a study's findings: people and judges, per configuration."

    arguments = (
        argument("slug", help="the study"),
        argument("--format", choices=["json", "text"], default="text"),
        argument("--similarity", help="whose separability to bin by, or a run's label (default: computed last)"),
        argument("--batch", action="append", default=[], help="only this batch; may be repeated"),
        argument("--judge", action="append", default=[], help="only this judge; may be repeated"),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that they are about"),
        argument("--drop-incomplete", action="store_true", help="leave out rating sets that lack a rating"),
        argument(
            "--epsilon",
            default="",
            metavar="ε",
            help="how much less than a person a judge may agree with people and still replace one: 0.1 for crowd workers "
            "(default), 0.15 for skilled raters, 0.2 for experts",
        ),
        argument("--ties", choices=get_args(Ties), default="half", help="how Bradley-Terry strengths treat ties"),
        argument(
            "--two-way",
            action="store_true",
            help="intervals over instances and raters, where a number has several raters",
        ),
        argument("--seed", type=int, default=0, help="of the intervals' resamples (default 0)"),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        study = find_study(slug)
        if options["seed"] < 0:
            raise CommandError(f"--seed {options['seed']}: a seed is 0 or more")
        numbers = findings(
            study,
            similarity=similarity_named(study, options["similarity"]),
            batches=batches_named(study, options["batch"]),
            drop_incomplete=options["drop_incomplete"],
            judges=judges_named(study, options["judge"]),
            question=options["question"],
            ties=options["ties"],
            seed=options["seed"],
            epsilon=epsilon_named(options["epsilon"]),
            two_way=options["two_way"],
        )
        self.say_numbers(numbers, options["format"], as_text)
