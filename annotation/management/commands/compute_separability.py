"""`compute_separability SLUG --similarity bertscore-length --model small --samples 5`."""

from typing import Any

from annotation.core.counting import number_of
from annotation.management.commands._base import StudyCommand, argument, arguments_of, filled_by
from annotation.management.commands._batches import TWO
from annotation.models import Study
from annotation.separability.forms import ComputeSeparability
from annotation.separability.measure import default_similarity
from annotation.separability.services import ignored_texts_notice
from annotation.separability.store import SeparabilityResult


class Command(StudyCommand):
    help = "Compute the separability of every matchup of a study."

    arguments = (
        *arguments_of(
            ComputeSeparability,
            samples={"metavar": "K"},
            cross={"metavar": "C"},
            seed={"metavar": "S"},
            dataset={"metavar": "D"},
            systems=TWO,
        ),
        argument("--format", choices=["text", "json"], default="text"),
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        form = filled_by(ComputeSeparability, options)
        request, cleaned = form.request(), form.cleaned_data
        if not cleaned["similarity"] and (fallback := default_similarity(cleaned["model"]).notice):
            self.stderr.write(f"notice: {fallback}")
        if notice := ignored_texts_notice(study, request.similarity):
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
