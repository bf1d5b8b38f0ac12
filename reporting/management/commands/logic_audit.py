"""`manage.py logic_audit`: how consistent judges and people are with themselves."""

from typing import Any

from django.core.management.base import CommandError

from annotation.core.spreadsheet import csv_lines
from annotation.management.commands._base import TandemCommand, argument
from annotation.models import Study
from annotation.studies.questions import find_question
from annotation.studies.services import find_study
from judging.models import Judge
from judging.outcomes.judgments import judges_of
from reporting.core.estimates import IntervalSettings
from reporting.logic.audit import audit
from reporting.logic.audit_text import COLUMNS, as_rows, as_text
from reporting.logic.contradictions import contradictions
from reporting.logic.presentations import judge_presentations, people_presentations


class Command(TandemCommand):
    help = (
        "Measure how consistent judges are with themselves among the texts of each instance: transitivity, commutativity, "
        "negation invariance, self-agreement and position. A judge with --order both, --negated and --repeats has them all."
    )

    arguments = (
        argument("slug", help="the study"),
        argument("--judge", action="append", default=[], metavar="NAME", help="may be repeated (default: every judge)"),
        argument("--people", action="store_true", help="people's first votes as well"),
        argument("--question", default="", metavar="KEY", help="of several questions, the one that they are about"),
        argument(
            "--list", dest="most", type=int, default=20, metavar="N", help="contradictions listed of each kind (20)"
        ),
        argument("--format", choices=["json", "text", "csv"], default="text"),
    )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        study = find_study(slug)
        if options["most"] < 0:
            raise CommandError(f"--list {options['most']}: a number of contradictions is 0 or more")
        question = find_question(study, options["question"]).number
        judges = _judges(study, options["judge"], question, people=options["people"])
        settings = IntervalSettings()
        raters = []
        for judge in judges:
            asked = (
                people_presentations(study, question=question)
                if judge is None
                else judge_presentations(study, judge, question=question)
            )
            listed = contradictions(study, judge, asked, most=options["most"], question=question)
            name = "people" if judge is None else f"judge:{judge.name}"
            raters.append({"rater": name, **audit(asked, settings), "contradictions": listed})
        found = {"study": study.slug, "level": settings.level, "raters": raters}
        if options["format"] == "csv":
            self.stdout.write("".join(csv_lines(as_rows(found), COLUMNS)), ending="")
        else:
            self.say_numbers(found, options["format"], as_text)


def _judges(study: Study, names: list[str], question: int, *, people: bool) -> list[Judge | None]:
    """Find the judges that were asked, all if none is named; None stands for people."""
    known = {run.judge.name: run.judge for run in judges_of(study, question=question)}
    if strangers := [name for name in names if name not in known]:
        listed = ", ".join(known) or "none"
        raise CommandError(f"no judge {', '.join(strangers)} has run on study {study.slug}; those that have: {listed}")
    found: list[Judge | None] = [known[name] for name in dict.fromkeys(names or known)]
    if not (found or people):
        raise CommandError(f"no judge has run on study {study.slug}; let one with manage.py run_judge, or add --people")
    return [*([None] if people else []), *found]
