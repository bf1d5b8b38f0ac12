"""Stability of separability under fewer generations, fewer cross pairs, or another temperature."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from django.conf import settings

from analysis.intervals.bootstrap import mean_rows
from analysis.similarity import registry
from analysis.similarity.separability import alignments, separability
from analysis.similarity.stability import Stability, stability, subsampled
from analysis.types import FloatArray
from annotation.core.errors import AnnotationError
from annotation.core.version import VERSION
from annotation.models import Generation, Study
from annotation.models.separability import Measure
from annotation.separability.measure import AlignmentMeasure, measure_of
from reporting.core.estimates import Basis, build_estimate, mean_estimate
from reporting.findings.reasons import NOT_COMPUTED
from reporting.separability.arrays import ConfigurationAlignments, SeparabilityFilters
from reporting.separability.distributions import NO_TIE
from reporting.separability.reading import read_separability, selected_configurations
from reporting.separability.reasons import FEW_TEXTS, NEEDS_MODEL, NOT_SO_MANY, TOO_LONG
from reporting.separability.temperatures import by_temperature

MOST_CHANGE = 2.0  # separability lies between -1 and 1
MAX_INSTANCES = 100  # sampled with the seed of the filters; their texts are compared again
DRAWS = 20
MAX_SAMPLES = 12  # generations of a system
MAX_CHARACTERS = 1_000_000  # of all compared texts, a few seconds' work: long texts mean fewer instances
CROSS_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)  # of all cross pairs


def stabilities(study: Study, filters: SeparabilityFilters, *, model: str = "") -> dict[str, Any]:
    """Compute the stability of all selected configurations, by any similarity, and the comparison of temperatures.

    model : path of the model, where it is not found by the recorded name
    Raises: UnknownName for an unknown data set, system or similarity; AnnotationError for a model that is missing or is
            not the one that separability was computed with.
    """
    data = read_separability(study, filters, selected_configurations(study, filters))
    measures: dict[tuple[str, str, str], AlignmentMeasure] = {}
    results = []
    for part in data.parts:
        main, named = part.by_similarity(filters.similarity), part.configuration
        measure = None
        if main is not None:
            run = main.run
            key = (run.similarity, run.model, run.model_fingerprint)
            measure = measures[key] = measures.get(key) or _measure_of(run.measure, model)
        systems = {"system_a": named.system_a.name, "system_b": named.system_b.name}
        results.append({"dataset": named.dataset, **systems, "stability": stability_of(study, part, filters, measure)})
    return {
        "study": study.slug,
        "version": VERSION,
        "filters": filters.as_json(),
        "configurations": results,
        "temperatures": by_temperature(data.sampled, data.parts, filters),
    }


def _measure_of(used: Measure, model: str) -> AlignmentMeasure:
    """Return the measure of a run, with its model loaded but without its draws.

    Raises: AnnotationError.
    """
    measure = measure_of(similarity=used.similarity, model=model or used.model)
    if measure.model_fingerprint != used.model_fingerprint:
        raise AnnotationError(
            f"{used.label} was computed with another model than {measure.model} here (fingerprint "
            f"{used.model_fingerprint or 'none'}, here {measure.model_fingerprint}): give its model, or the label of another run as the similarity"
        )
    return measure


def stability_of(
    study: Study,
    alignments: ConfigurationAlignments,
    filters: SeparabilityFilters,
    measure: AlignmentMeasure | None = None,
) -> dict[str, Any]:
    """Compare separability estimated from subsamples of the texts with that from all texts, on a sample of instances.

    measure : the loaded measure of a similarity that needs a model; without it the result is a command to run instead
    """
    main = alignments.by_similarity(filters.similarity)
    if main is None:
        return {"samples": [], "cross_pairs": [], **NOT_COMPUTED.as_json()}
    similarity, model = main.run.similarity, main.run.model
    if measure is None and (model or similarity not in registry.names() or registry.needs(similarity)):
        named = alignments.configuration
        parts = [settings.COMMAND, "separability_stability", study.slug, "--dataset", named.dataset]
        parts += ["--systems", named.system_a.name, named.system_b.name, "--similarity", main.label]
        return {"samples": [], "cross_pairs": [], **NEEDS_MODEL.as_json(), "command": shlex.join(parts)}
    label = Measure(similarity, model).label  # all texts are compared, whatever it drew
    rng = filters.rng("stability", alignments.seed_label, label)
    matrices, counts, drawn_rows = _matrices(alignments, measure or measure_of(similarity=similarity), filters)
    filters = replace(filters, clusters=None if alignments.clusters is None else alignments.clusters[drawn_rows])
    if not matrices and alignments.matchup_ids:
        return {"samples": [], "cross_pairs": [], **TOO_LONG.as_json()}
    if not any(min(pair) > 2 for pair in counts):
        return {"samples": [], "cross_pairs": [], **FEW_TEXTS.as_json()}
    k_a = [pair[0] for pair in counts]
    full = _full_separability(matrices, k_a) / main.scale
    limit = min(MAX_SAMPLES, max(min(pair) for pair in counts))
    cross = sorted({max(1, round(share * limit * limit)) for share in CROSS_SHARES})

    def measured(**part: int) -> dict[str, Any]:
        drawn = subsampled(matrices, k_a, scale=main.scale, draws=DRAWS, rng=rng, **part)
        result = stability(drawn, full, rng=rng, level=filters.intervals.level)
        return {**part, **_stability_json(result, np.abs(drawn - full[:, np.newaxis]).mean(axis=1), filters)}

    return {
        "similarity": label,
        "instances": len(matrices),
        "of": len(alignments.matchup_ids),
        "draws": DRAWS,
        "most_samples": limit,
        "samples": [measured(samples=k) for k in range(2, limit)],
        "cross_pairs": [measured(cross_pairs=count) for count in cross if count < limit * limit],
    }


def _stability_json(result: Stability, changes: FloatArray, filters: SeparabilityFilters) -> dict[str, Any]:
    basis = Basis(result.n, "instances", NO_TIE, result.missing, NOT_SO_MANY)
    change = mean_estimate(mean_rows(changes), np.arange(len(changes)), basis, filters.intervals, ceiling=MOST_CHANGE)
    correlation = build_estimate(
        result.correlation, result.correlation_interval, basis, filters.intervals, result.n, minimum=2
    )
    return {"change": change, "rank_correlation": {**correlation, "interval": "middle of the draws"}}


def _matrices(
    alignments: ConfigurationAlignments, measure: AlignmentMeasure, filters: SeparabilityFilters
) -> tuple[list[FloatArray], list[tuple[int, int]], list[int]]:
    """Return the similarity matrices of a sample of instances, the numbers of generations of each system, and their rows."""
    rng = filters.rng("stability", "instances", alignments.seed_label)
    count = min(MAX_INSTANCES, len(alignments.matchup_ids))
    drawn = np.sort(rng.choice(len(alignments.matchup_ids), size=count, replace=False)).tolist()
    named = alignments.configuration
    systems = (named.system_a.name, named.system_b.name)
    matchups = [alignments.matchup_ids[index] for index in drawn]
    rows = Generation.objects.filter(instance__matchups__in=matchups, system__name__in=systems)
    texts: dict[tuple[int, str], list[str]] = {}
    names: dict[int, str] = {}
    order = rows.order_by("instance__position", "index")
    columns = ("instance_id", "instance__instance_id", "system__name", "text")
    for instance, names[instance], system, text in order.values_list(*columns):
        texts.setdefault((instance, system), []).append(text)
    both = {
        instance: [texts[instance, system][:MAX_SAMPLES] for system in systems]
        for instance in dict.fromkeys(key[0] for key in texts)
        if all((instance, system) in texts for system in systems)
    }
    fit = _within_budget({instance: sum(map(len, of_a + of_b)) for instance, (of_a, of_b) in both.items()}, rng)
    fitting = {names[instance]: texts_of for instance, texts_of in both.items() if instance in fit}
    matrices = measure.matrices({name: of_a + of_b for name, (of_a, of_b) in fitting.items()})
    counts = [(len(of_a), len(of_b)) for of_a, of_b in fitting.values()]
    return [matrices[name] for name in fitting], counts, [alignments.instance_ids.index(name) for name in fitting]


def _within_budget(characters: Mapping[int, int], rng: np.random.Generator) -> set[int]:
    """Sample instances until the budget of characters is used up."""
    fit, remaining = set(), MAX_CHARACTERS
    for instance in rng.permutation(list(characters)).tolist():
        if characters[instance] <= remaining:
            remaining -= characters[instance]
            fit.add(instance)
    return fit


def _full_separability(matrices: list[FloatArray], k_a: list[int]) -> FloatArray:
    means = [alignments(matrix, count) for matrix, count in zip(matrices, k_a, strict=True)]
    return np.array([separability(*mean) for mean in means], dtype=np.float64)
