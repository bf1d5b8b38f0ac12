"""`create_batch STUDY --name NAME --dataset NAME --systems A B|--design D --pairs N --raters R --select … --seed S [--draft] …`."""

from typing import Any

from annotation.batches.forms import CreateBatch
from annotation.batches.sampling import shown_selection
from annotation.batches.services import notices_of
from annotation.core.counting import number_of
from annotation.management.commands._base import StudyCommand, argument, arguments_of, filled_by, group, one_of
from annotation.management.commands._batches import NOT_OPTIONS, SELECT, TWO, document, with_ids
from annotation.management.commands._settings import FORMAT
from annotation.models import Batch, Study

CHECKS = ("gold_rate", "repeat_rate")


class Command(StudyCommand):
    help = "Create a batch: choose instances of one data set and two systems, and publish them as HITs."

    arguments = (
        one_of(*arguments_of(CreateBatch, only=("systems", "design"), systems=TWO), required=True),
        *arguments_of(
            CreateBatch,
            exclude=("systems", "design", "status", *NOT_OPTIONS, *CHECKS),
            most_hits_per_rater={"flag": "--max-hits-per-rater"},
            select=SELECT,
        ),
        argument(
            "--draft", dest="status", action="store_const", const="draft", help="give out no HITs until it is launched"
        ),
        group("hidden checks, of a batch for rating", *arguments_of(CreateBatch, only=CHECKS)),
        FORMAT,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        options = with_ids(options)
        form = filled_by(CreateBatch, options, study=study)
        batches, created = form.run()
        if options["format"] == "json":
            documents = [document(study, batch, made=created) for batch in batches]
            self.say_json({"batches": documents} if form.asked_design else documents[0])
        else:
            for batch in batches:
                self._report(batch, created)
        if created and not form.asked_design:
            self._notices(batches[0])

    def _report(self, batch: Batch, created: bool) -> None:
        hits = batch.hits.count()
        if not created:
            self.say(
                f"batch {batch.name} exists already with the same settings: {number_of(hits, 'HIT')}; nothing "
                "was changed"
            )
            return
        if batch.purpose == Batch.Purpose.RATING:
            ratings = hits * batch.pairs_per_hit * batch.raters_per_hit
            outcome = f"for {number_of(batch.raters_per_hit, 'rater')} each = {number_of(ratings, 'rating')}"
        else:
            outcome = f"for every rater ({batch.get_purpose_display()})"
        state = "; a draft, not launched yet" if batch.status == Batch.Status.DRAFT else ""
        self.say(
            f"batch {batch.name}: {number_of(hits, 'HIT')} of {number_of(batch.pairs_per_hit, 'pair')} {outcome} "
            f"(seed {batch.seed}){state}"
        )

    def _notices(self, batch: Batch) -> None:
        for reason, count in shown_selection(batch.selection)["left_out"].items():
            self.stderr.write(f"notice: left out: {number_of(count, 'instance')} {reason}")
        if by := batch.selection["separability"]:
            self.stderr.write(
                f"notice: chosen by {by['measure']}; this hides instances on which people disagree over similar "
                "texts, and rare failures; results are about the chosen ones (docs/howto/plan_a_study.md)"
            )
        for notice in notices_of(batch):
            self.stderr.write(f"notice: {notice}")
