"""check_tables STUDY --endpoint NAME"""

from typing import Any

from annotation.management.commands._base import StudyCommand, argument
from annotation.management.commands._settings import FORMAT
from annotation.models import Study
from judging.endpoints.services import find_endpoint
from judging.management.asking import asking
from judging.management.commands._runs import CALLS_AT_ONCE, ESTIMATE, cost_of, max_cost, param
from judging.tables.checking import checked_by_entailment
from judging.tables.entailment_calls import estimate_entailment
from judging.tables.stored_checks import require_tables


class Command(StudyCommand):
    help = (
        "Check a study's comparison tables by a model: does each cell follow from the texts, and does the table "
        "cover their sentences? Tables checked by this model before are skipped, so the command can be repeated."
    )

    arguments = (
        argument("--endpoint", required=True, metavar="NAME"),
        argument("--variant", default="", metavar="V", help="only the tables of this variant"),
        param("sent with each call, as max_tokens=300; may be repeated"),
        max_cost("asking"),
        *(CALLS_AT_ONCE, ESTIMATE, FORMAT),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        require_tables(study, options["variant"])
        endpoint = find_endpoint(options["endpoint"])
        request = {"endpoint": endpoint, "variant": options["variant"], "params": dict(options["param"])}
        if options["estimate"]:
            estimate = estimate_entailment(study, **request)
            self.say_document(
                {"study": study.slug, **estimate.as_dict()}, options, cost_of(estimate, options["max_cost"])
            )
            return
        with asking(self.stderr) as work:
            settings = {"max_cost": options["max_cost"], "in_flight": options["in_flight"]}
            checks = checked_by_entailment(study, **request, **settings, stop=work.stop, on_progress=work.meter)
        work.conclude()
        self.say_document(checks, options)
