"""`compute_separability SLUG --similarity bertscore-length --model small --samples 5`."""

from typing import Any

from analysis import similarity
from annotation.core.counting import number_of
from annotation.management.commands._base import StudyCommand, argument
from annotation.models import Study
from annotation.separability.jobs import SeparabilityRequest
from annotation.separability.measure import default_similarity
from annotation.separability.services import ignored_texts_notice
from annotation.separability.store import SeparabilityResult


class Command(StudyCommand):
    help = "Compute the separability of every matchup of a study."

    arguments = (
        argument(
            "--similarity",
            help=f"one of {', '.join(similarity.names())} (default: bertscore-length if a model is installed, "
            "else rouge1-length)",
        ),
        argument("--model", default="", help="language model, for a similarity that needs one"),
        argument(
            "--group",
            default="configuration",
            help="group for min-max normalisation: configuration (default), study, or MIN,MAX",
        ),
        argument("--samples", type=int, metavar="K", help="draw K generations of each system (default: all)"),
        argument("--cross", type=int, metavar="C", help="draw C pairs of A and B for each instance (default: all)"),
        argument("--seed", type=int, metavar="S", help="of the draws (default: 0)"),
        argument("--dataset", default="", metavar="D", help="only this data set"),
        argument("--systems", nargs=2, default=(), metavar=("A", "B"), help="only these two systems"),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        name = options["similarity"]
        if name is None:
            default = default_similarity(options["model"])
            name = default.similarity
            if default.notice:
                self.stderr.write(f"notice: {default.notice}")
        request = SeparabilityRequest(
            similarity=name,
            group=options["group"],
            model=options["model"],
            samples=options["samples"],
            cross_pairs=options["cross"],
            seed=options["seed"],
            dataset=options["dataset"],
            systems=tuple(options["systems"]),
        )
        if notice := ignored_texts_notice(study, name):
            self.stderr.write(f"notice: {notice}")
        results = request.compute(study)
        self.say_result(map(in_words, results), list(map(as_json, results)), options)


def in_words(result: SeparabilityResult) -> str:
    """Describe the result for a configuration."""
    if not result.changed:
        outcome = "unchanged"
    elif result.computed == result.matchups:
        outcome = "computed"
    else:
        outcome = f"stored, of which {result.computed} newly computed"
    missing = f", {result.undefined} undefined (a system with one text)" if result.undefined else ""
    short = f", {result.run.short} with fewer texts than were to be drawn: all taken" if result.run.short else ""
    return f"{result.configuration}: {number_of(result.matchups, 'matchup')} {outcome}{missing}{short}"


def as_json(result: SeparabilityResult) -> dict[str, Any]:
    """Return the result as JSON, with everything that is recorded."""
    run = result.run
    names = ("similarity", "model", "model_fingerprint", "samples", "cross_pairs", "seed", "group", "low", "high")
    return {
        "run": run.pk,
        "dataset": run.dataset,
        "system_a": result.configuration.system_a.name,
        "system_b": result.configuration.system_b.name,
        **{name: getattr(run, name) for name in names},
        "matchups": result.matchups,
        "computed": result.computed,
        "changed": result.changed,
        "undefined": result.undefined,
        "why_undefined": "a system with one text" if result.undefined else None,
        "short": run.short,
        "texts_sha256": run.texts_sha256,
        "computed_at": run.computed_at.isoformat(),
        "seconds": run.seconds,
        "software_version": run.software_version,
    }
