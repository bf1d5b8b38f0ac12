"""`manage.py findings`: the numbers of a study on standard output."""

from dataclasses import replace
from typing import Any, get_args

from django.http import QueryDict

from analysis.ranking.bradley_terry import Ties
from annotation.management.commands._base import SEED, StudyCommand, argument
from annotation.models import Rating, Study
from reporting.findings.computing import findings_under
from reporting.findings.data.asked import SEVERAL, SWITCHES, filters_of
from reporting.findings.text import as_text


class Command(StudyCommand):
    is_audited = False  # only reads
    help = "Print a study's findings."

    arguments = (
        argument("--format", choices=["json", "text"], default="text"),
        argument(
            "--similarity", help="similarity of the separability to bin by, or label of a run (default: computed last)"
        ),
        argument("--batch", action="append", default=[], help="only this batch; may be repeated"),
        argument("--dataset", action="append", default=[], help="only this data set; may be repeated"),
        argument("--systems", nargs="+", default=[], metavar="SYSTEM", help="only pairs of one or two systems"),
        argument("--judge", action="append", default=[], help="only this judge; may be repeated"),
        argument("--rater", action="append", default=[], metavar="CODE", help="only this person; may be repeated"),
        argument("--stage", choices=Rating.Stage.values, default="first", help="people's votes in this stage"),
        argument("--arm", action="append", default=[], help="only people's HITs of this arm; may be repeated"),
        argument("--with-excluded", action="store_true", help="include ratings that were excluded by hand"),
        argument("--question", default="", metavar="KEY", help="question (default: the main one)"),
        argument("--with-incomplete", action="store_true", help="include incomplete rating sets"),
        argument(
            "--epsilon",
            default="",
            metavar="ε",
            help=(
                "largest acceptable loss of agreement when a judge replaces a rater: 0.1 for crowd workers "
                "(default), 0.15 for skilled raters, 0.2 for experts"
            ),
        ),
        argument("--ties", choices=get_args(Ties), default="half", help="how Bradley-Terry strengths treat ties"),
        argument(
            "--two-way",
            action="store_true",
            help="intervals over instances and raters, for numbers of several raters",
        ),
        SEED,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        named = {**options, "system": options["systems"]}
        query = QueryDict(mutable=True)
        for name in (*SEVERAL, *SWITCHES, "similarity", "stage", "ties", "question", "epsilon"):
            value = named[name]
            query.setlist(name, value if isinstance(value, list) else ["1" if value is True else value or ""])
        filters = filters_of(study, query)
        numbers = findings_under(study, replace(filters, seed=options["seed"]))
        self.say_numbers(numbers, options["format"], as_text)
