"""`manage.py rank`: rankings of each instance's texts by a judge, with few comparisons or with all."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from annotation.models import Generation
from annotation.studies.questions import find_question
from annotation.studies.services import find_study
from judging.outcomes.judgments import judges_of
from reporting.core.charts import to_png, to_svg
from reporting.core.estimates import IntervalSettings
from reporting.logic.presentations import judge_presentations, targets
from reporting.logic.ranking import METHODS, as_text, rank_instances, ranking_chart

PICTURES = {".svg": lambda spec: to_svg(spec).encode(), ".png": to_png}


class Command(TandemCommand):
    help = (
        "Rank the texts of each instance by a judge's stored answers: PairS, PairS with a beam, Swiss pairing, all pairs; "
        "with the comparisons each takes, and rank correlations with gold or people. No call is made."
    )

    arguments = (
        argument("slug", help="the study"),
        argument("--judge", required=True, metavar="NAME"),
        argument("--method", action="append", choices=list(METHODS), default=[], help="may be repeated (default: all)"),
        argument("--calibrate", action="store_true", help="each comparison is the mean of both orders"),
        argument("--seeds", type=int, default=100, metavar="N", help="orders in which the texts come (default 100)"),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that is used"),
        argument(
            "--picture", type=Path, metavar="FILE", help="draw correlations and comparisons into this .svg or .png"
        ),
        argument("--format", choices=["json", "text"], default="text"),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        study, picture = find_study(slug), options["picture"]
        if options["seeds"] < 1:
            raise CommandError(f"--seeds {options['seeds']}: at least one order is needed")
        if picture and picture.suffix not in PICTURES:
            raise CommandError(f"--picture {picture}: name a file that ends in {' or '.join(PICTURES)}")
        question = find_question(study, options["question"]).number
        judges = {run.judge.name: run.judge for run in judges_of(study, question=question)}
        if options["judge"] not in judges:
            known = ", ".join(judges) or "none"
            raise CommandError(f"no judge {options['judge']} has run on study {slug}; those that have: {known}")
        asked = judge_presentations(
            study, judges[options["judge"]], targets(study, question=question), question=question
        )
        names = dict(Generation.objects.filter(instance__study=study).values_list("pk", "system__name"))
        found = {
            "study": study.slug,
            "rater": f"judge:{options['judge']}",
            **rank_instances(
                asked,
                [names[pk] for pk in asked.generation.tolist()],
                IntervalSettings(),
                methods=list(dict.fromkeys(options["method"])) or list(METHODS),
                seeds=options["seeds"],
                calibrate=options["calibrate"],
            ),
        }
        if picture:
            try:
                picture.write_bytes(PICTURES[picture.suffix](ranking_chart(found)))
            except OSError as error:
                raise CommandError(f"can't write to {picture}: {error.strerror}") from None
        self.say_numbers(found, options["format"], as_text)
