"""How much a configuration's separability moves with fewer generations, fewer cross pairs, or another temperature."""

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis import similarity as similarities
from analysis.separability import alignments, separability
from analysis.stability import Stability, stability, subsampled
from analysis.types import FloatArray
from annotation.errors import AnnotationError
from annotation.models import Generation, SeparabilityRun, Study
from annotation.services.separability_measure import Measure, measure_of
from annotation.version import VERSION
from reporting.estimates import Basis, described
from reporting.separability import runs_by_configuration
from reporting.separability_numbers import NO_TIE
from reporting.separability_rows import Compared, Look, chosen_configurations, compared, similarity_chosen
from reporting.separability_temperatures import by_temperature

MOST_INSTANCES = 100  # drawn with the look's seed; their texts are compared anew
DRAWS = 20
MOST_SAMPLES = 12  # generations of a system
MOST_CHARACTERS = 1_000_000  # of all texts that are compared, a few seconds' work: of long texts fewer instances
CROSS_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)  # of all cross pairs
NEEDS_MODEL = "this similarity needs a model or a package that pages don't load; a command works it out"
TOO_LONG = (
    "the texts are too long to be compared while a page waits; compute separability with fewer samples beside it "
    "(--samples, --cross), and compare"
)
TOO_FEW_TEXTS = "no instance has three generations or more of both systems: with two there is nothing to leave out"


def stabilities(study: Study, look: Look, *, model: str = "") -> dict[str, Any]:
    """Work the stability of all configurations that are looked at out, by whatever similarity, and the temperatures.

    model : what reads the texts, where it is not found by the name that separability was computed under
    Raises: UnknownName for a data set, a system or a similarity that isn't there; AnnotationError for a model that isn't
            there, or is not the one that separability was computed with.
    """
    runs = runs_by_configuration(study)
    similarity_chosen(runs, look)
    parts = [compared(configuration, runs, look.similarity) for configuration in chosen_configurations(study, look)]
    measures: dict[tuple[str, str, str], Measure] = {}
    found = []
    for one in parts:
        main, named = one.by(look.similarity), one.configuration
        measure = None
        if main is not None:
            key = (main.run.similarity, main.run.model, main.run.model_fingerprint)
            measure = measures[key] = measures.get(key) or _measure_of(main.run, model)
        systems = {"system_a": named.system_a.name, "system_b": named.system_b.name}
        found.append({"dataset": named.dataset, **systems, "stability": stability_of(one, look, measure)})
    return {
        "study": study.slug,
        "version": VERSION,
        "filters": look.described(),
        "configurations": found,
        "temperatures": by_temperature(study, parts, look),
    }


def _measure_of(run: SeparabilityRun, model: str) -> Measure:
    """Return by what a run was computed, without its draws, with its model found.

    Raises: AnnotationError.
    """
    measure = measure_of(similarity=run.similarity, model=model or run.model)
    if measure.model_fingerprint != run.model_fingerprint:
        raise AnnotationError(
            f"{run} was computed with another model than {measure.model} here (fingerprint "
            f"{run.model_fingerprint or 'none'}, here {measure.model_fingerprint}): name its own by --model, or another "
            "run by its label as --similarity"
        )
    return measure


def stability_of(one: Compared, look: Look, measure: Measure | None = None) -> dict[str, Any]:
    """Estimate separability from parts of a seeded sample of instances, and set it beside that from all their texts.

    measure : compares the texts, if it takes a model; without it such a similarity is refused, with a command for it
    """
    main = one.by(look.similarity)
    if main is None:
        return {"samples": [], "cross_pairs": [], "why": "separability has not been computed"}
    run = main.run
    if measure is None and (
        run.model or run.similarity not in similarities.names() or similarities.needs(run.similarity)
    ):
        return {"samples": [], "cross_pairs": [], "why": NEEDS_MODEL, "command": _command(one, main.label)}
    label = SeparabilityRun(
        similarity=run.similarity, model=run.model
    ).label  # all texts are compared, whatever it drew
    rng = look.sampler.rng("stability", one.seed_label, label)
    matrices, held = _matrices(one, measure or measure_of(similarity=run.similarity), look)
    if not matrices and one.matchup_ids:
        return {"samples": [], "cross_pairs": [], "why": TOO_LONG}
    if not any(min(pair) > 2 for pair in held):
        return {"samples": [], "cross_pairs": [], "why": TOO_FEW_TEXTS}
    k_a = [pair[0] for pair in held]
    full = _full(matrices, k_a) / main.scale
    most = min(MOST_SAMPLES, max(min(pair) for pair in held))
    cross = sorted({max(1, round(share * most * most)) for share in CROSS_SHARES})

    def measured(**part: int) -> dict[str, Any]:
        drawn = subsampled(matrices, k_a, scale=main.scale, draws=DRAWS, rng=rng, **part)
        sampler = look.sampler
        found = stability(drawn, full, rng=rng, rounds=sampler.rounds, level=sampler.level)
        return {**part, **_described(found, look)}

    return {
        "similarity": label,
        "instances": len(matrices),
        "of": len(one.matchup_ids),
        "draws": DRAWS,
        "most_samples": most,
        "samples": [measured(samples=k) for k in range(2, most)],
        "cross_pairs": [measured(cross_pairs=count) for count in cross if count < most * most],
    }


def _command(one: Compared, label: str) -> str:
    named = one.configuration
    parts = ["manage.py", "separability_stability", named.study.slug, "--dataset", named.dataset]
    return shlex.join([*parts, "--systems", named.system_a.name, named.system_b.name, "--similarity", label])


def _described(found: Stability, look: Look) -> dict[str, Any]:
    basis = Basis(found.n, "instances", NO_TIE, found.missing, "no instance has so many generations")
    change = described(found.change, found.change_interval, basis, look.sampler, found.n)
    correlation = described(found.correlation, found.correlation_interval, basis, look.sampler, found.n)
    return {"change": change, "rank_correlation": {**correlation, "interval": "middle of the draws"}}


def _matrices(one: Compared, measure: Measure, look: Look) -> tuple[list[FloatArray], list[tuple[int, int]]]:
    """Compare the texts of a sample of instances: all pairs of an instance's generations, and how many each system has."""
    rng = look.sampler.rng("stability", "instances", one.seed_label)
    count = min(MOST_INSTANCES, len(one.matchup_ids))
    chosen = np.sort(rng.choice(len(one.matchup_ids), size=count, replace=False)).tolist()
    named = one.configuration
    systems = (named.system_a.pk, named.system_b.pk)
    matchups = [one.matchup_ids[place] for place in chosen]
    rows = Generation.objects.filter(instance__matchups__in=matchups, system__in=systems)
    texts: dict[tuple[int, int], list[str]] = {}
    names: dict[int, str] = {}
    order = rows.order_by("instance__position", "index")
    columns = ("instance_id", "instance__instance_id", "system_id", "text")
    for instance, names[instance], system, text in order.values_list(*columns):
        texts.setdefault((instance, system), []).append(text)
    both = {
        instance: [texts[instance, system][:MOST_SAMPLES] for system in systems]
        for instance in dict.fromkeys(key[0] for key in texts)
        if all((instance, system) in texts for system in systems)
    }
    fit = _that_fit({instance: sum(map(len, of_a + of_b)) for instance, (of_a, of_b) in both.items()}, rng)
    kept = {names[instance]: texts_of for instance, texts_of in both.items() if instance in fit}
    matrices = measure.matrices({name: of_a + of_b for name, (of_a, of_b) in kept.items()})
    return [matrices[name] for name in kept], [(len(of_a), len(of_b)) for of_a, of_b in kept.values()]


def _that_fit(characters: Mapping[int, int], rng: np.random.Generator) -> set[int]:
    """Draw instances for as long as their texts are few enough to be compared while a page waits."""
    fit, left = set(), MOST_CHARACTERS
    for instance in rng.permutation(list(characters)).tolist():
        if characters[instance] <= left:
            left -= characters[instance]
            fit.add(instance)
    return fit


def _full(matrices: list[FloatArray], k_a: list[int]) -> FloatArray:
    means = [alignments(matrix, count) for matrix, count in zip(matrices, k_a, strict=True)]
    return np.array([separability(*mean) for mean in means], dtype=np.float64)
