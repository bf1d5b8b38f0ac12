"""`create_batch STUDY --name NAME --dataset NAME --systems A B|--design D --pairs N --raters R --select … --seed S [--draft] …`."""

from typing import Any

from annotation.batches.designs import DESIGNS, create_design
from annotation.batches.sampling import BatchSpec, SelectionSpec
from annotation.batches.services import create_batch, notices_of
from annotation.core.counting import number_of
from annotation.core.keys import new_seed
from annotation.management.commands._base import TandemCommand, argument, group, one_of
from annotation.management.commands._batches import SELECT, document, selection_of
from annotation.management.commands._settings import FORMAT
from annotation.models import Batch, Study
from annotation.studies.configurations import configuration_of_dataset
from annotation.studies.presets import batch_defaults
from annotation.studies.services import find_study


class Command(TandemCommand):
    help = "Choose instances of one data set and two systems, and publish them as HITs."

    arguments = (
        argument("study", metavar="STUDY"),
        argument("--name", required=True),
        argument("--dataset", required=True),
        one_of(
            argument("--systems", nargs=2, metavar=("A", "B")),
            argument("--design", help=f"over all systems of the data set, one batch for each pair of them: {DESIGNS}"),
            required=True,
        ),
        argument("--pairs", type=int, help="pairs per HIT (default: the study's)"),
        argument("--raters", type=int, help="raters per HIT (default: the study's)"),
        argument("--select", help=f"{SELECT} (default: as the study's template says, else all)"),
        argument("--similarity", help="which separability to choose by, or a run's label (default: computed last)"),
        argument("--seed", type=int, help="recorded; drawn when not given"),
        argument(
            "--lease-minutes", type=int, default=60, help="how long a HIT stays claimed without activity of its rater"
        ),
        argument("--max-hits-per-rater", type=int, help="of this batch (default: no limit but the study's)"),
        argument("--draft", action="store_true", help="give out nothing until the batch is launched"),
        argument(
            "--purpose",
            default=Batch.Purpose.RATING,
            choices=Batch.Purpose.values,
            help="rating; or qualification or gold, of instances whose gold prefers one of the two systems",
        ),
        group(
            "hidden checks, of a batch for rating",
            argument("--gold-rate", type=float, default=0.0, help="share of a rater's HITs that are gold HITs"),
            argument("--repeat-rate", type=float, default=0.0, help="share that repeat an earlier HIT"),
        ),
        FORMAT,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        given = None if options["select"] is None else selection_of(options["select"], options["similarity"])
        study = find_study(options["study"])
        plan = batch_defaults(study)
        selection = given or selection_of(plan.select, options["similarity"])
        settings = {
            "pairs": plan.pairs if options["pairs"] is None else options["pairs"],
            "raters": plan.raters if options["raters"] is None else options["raters"],
            "lease_minutes": options["lease_minutes"],
            "most_hits_per_rater": options["max_hits_per_rater"],
            **{name: options[name] for name in ("purpose", "gold_rate", "repeat_rate")},
        }
        status = Batch.Status.DRAFT if options["draft"] else Batch.Status.OPEN
        if options["design"]:
            self._design(study, selection, settings, status, options)
            return
        batch, made = create_batch(
            study=study,
            name=options["name"],
            dataset=options["dataset"],
            systems=tuple(options["systems"]),
            seed=options["seed"],
            status=status,
            **settings,
            **selection.arguments,
        )
        if options["format"] == "json":
            self.say_json(document(study, batch, made=made))
        else:
            self._report(batch, made)
        self._notices(batch, made)

    def _design(
        self, study: Study, selection: SelectionSpec, settings: dict[str, Any], status: str, options: dict[str, Any]
    ) -> None:
        drawn = options["seed"] is None
        seed = new_seed() if drawn else options["seed"]
        found = configuration_of_dataset(study, options["dataset"])
        batches, made = create_design(
            spec=BatchSpec(configuration=found, seed=seed, selection=selection, **settings),
            design=options["design"],
            name=options["name"],
            status=status,
            drawn=drawn,
        )
        if options["format"] == "json":
            self.say_json({"batches": [document(study, batch, made=made) for batch in batches]})
            return
        for batch in batches:
            self._report(batch, made)

    def _report(self, batch: Batch, made: bool) -> None:
        hits = batch.hits.count()
        if not made:
            self.say(
                f"batch {batch.name} is there already, made the same way: {number_of(hits, 'HIT')}; nothing was changed"
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

    def _notices(self, batch: Batch, made: bool) -> None:
        if not made:
            return
        for reason, count in batch.selection["left_out"].items():
            self.stderr.write(f"notice: left out: {number_of(count, 'instance')} {reason}")
        if by := batch.selection["separability"]:
            self.stderr.write(
                f"notice: chosen by {by['measure']}; choosing by separability hides instances on which people disagree "
                "over texts that are alike, and rare failures; numbers over the chosen ones are about these "
                "(docs/howto/plan_a_study.md)"
            )
        for notice in notices_of(batch):
            self.stderr.write(f"notice: {notice}")
