"""The methods section of a report, written from the study's settings."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.template.defaultfilters import pluralize

from analysis.intervals.analytic import MIN_FOR_BOOTSTRAP, MIN_FOR_STATISTIC
from analysis.intervals.jackknife import MIN_CLUSTERS
from annotation.batches.sampling import chosen_in_words
from annotation.core.counting import counted
from annotation.models import Annotator, Assignment, Batch, Consent, Hit, Study
from annotation.studies.configurations import configurations as known_configurations
from annotation.studies.outcomes import select_each
from judging.methods.prompts import files_named
from judging.models import JudgeRun, Judgment
from judging.outcomes.judgments import judges_of
from reporting.core.text import level_text

MOST_BATCHES = 5  # described one by one


def methods_of(study: Study, findings: Mapping[str, Any]) -> list[str]:
    """Return a paragraph for each part of the methods."""
    paragraphs = (_task(study, findings), _batches(study), _people(study), _judges(study), _numbers(study, findings))
    return [text for sentences in paragraphs if (text := " ".join(sentences))]


def _task(study: Study, findings: Mapping[str, Any]) -> Iterator[str]:
    configurations = findings["configurations"]
    systems = {item[side] for item in configurations for side in ("system_a", "system_b")}
    selections = select_each(study, known_configurations(study, checks=False))
    compared = {(item.configuration.dataset, name) for item in selections for name in item.instance_ids}
    pairs = sum(item["pairs"] for item in configurations)
    yield (
        f"Task: {study.get_task_kind_display()}. Outputs of {len(systems)} system{pluralize(len(systems))} were compared "
        f"on {len(compared)} instance{pluralize(len(compared))} in {pairs} pair{pluralize(pairs)}."
    )
    for question in study.questions:
        yield f"Asked was: “{question.text}”."
        if not question.ties_allowed:
            yield "“No preference” was not on offer."
    if study.is_two_stage:
        yield f"Raters rated each pair a second time, in the arms {', '.join(study.arms)}."


def _batches(study: Study) -> Iterator[str]:
    from_elsewhere = Q(origin=Batch.Origin.IMPORTED, purpose=Batch.Purpose.RATING)
    batches, imported = list(study.batches.all()), list(study.batches.filter(from_elsewhere))
    if len(imported) > MOST_BATCHES:
        batches = list(study.batches.exclude(from_elsewhere))
        yield f"The ratings of {len(imported)} batches were collected elsewhere and imported: {_sums(imported)}."
    for batch in batches[:MOST_BATCHES]:
        if batch.purpose != Batch.Purpose.RATING:
            yield f"Batch {batch.name} ({_hits([batch])}) assessed the raters and enters no finding."
        elif batch.origin == Batch.Origin.IMPORTED:
            yield f"The ratings of batch {batch.name} were collected elsewhere and imported: {_sums([batch])}."
        else:
            spec = str(batch.selection.get("asked", {}).get("spec") or batch.selection.get("spec") or "")
            if spec:
                yield f"Batch {batch.name}: {chosen_in_words(spec)} ({spec}, seed {batch.seed})."
            else:
                yield f"Batch {batch.name}: how its instances were chosen is not recorded."
            yield (
                f"It has {_hits([batch])}, each with N = {counted(batch.pairs_per_hit, 'pairs')} of one instance, "
                f"for R = {counted(batch.raters_per_hit, 'raters')}; {_submissions([batch])}."
            )
        if batch.gold_rate or batch.repeat_rate:
            yield (
                f"Of a rater's HITs {batch.gold_rate:g} were hidden checks with a known answer, {batch.repeat_rate:g} "
                "hidden repeats."
            )
    if omitted := batches[MOST_BATCHES:]:
        yield f"{len(omitted)} further batch{pluralize(len(omitted), 'es')}: {_sums(omitted)}."


def _hits(batches: list[Batch]) -> str:
    return counted(Hit.objects.filter(batch__in=batches).count(), "HITs")


def _submissions(batches: list[Batch]) -> str:
    """Say how often HITs were submitted by those who have not withdrawn."""
    done = Assignment.objects.filter(state=Assignment.State.SUBMITTED, annotator__withdrawn_at=None)
    return f"submissions: {done.filter(hit__batch__in=batches).count()}"


def _sums(batches: list[Batch]) -> str:
    return f"{_hits(batches)}; {_submissions(batches)}"


def _people(study: Study) -> Iterator[str]:
    raters = study.annotators.filter(Exists(Assignment.objects.filter(annotator=OuterRef("pk"))), withdrawn_at=None)
    people = raters.exclude(kind=Annotator.Kind.SCRIPTED)
    kinds = Counter(person.get_kind_display() for person in people)
    listed = ", ".join(f"{kind}: {count}" for kind, count in sorted(kinds.items()))
    if number := sum(kinds.values()):
        yield f"{number} {'person' if number == 1 else 'people'} took part ({listed})."
    if programs := raters.count() - number:
        whom = "a person" if programs == 1 else "people"
        yield f"{programs} program{pluralize(programs)} rated in place of {whom}."
    if not number + programs:
        return
    channels = sorted(
        {channel.get_kind_display() for channel in study.channels.filter(participants__annotator__in=raters)}
    )
    if channels:
        yield f"They came through: {', '.join(map(str, channels))}."
    if pay := study.pay_for(1):
        yield f"A HIT was paid with {pay} {study.currency}."
    consents = Consent.objects.filter(annotator__in=people, accepted=True).order_by("version")
    if versions := consents.values_list("version", flat=True).distinct():
        yield f"They consented to the text of version {', '.join(map(str, versions))}."
    if study.batches.filter(purpose=Batch.Purpose.QUALIFICATION).exists():
        yield (
            f"Before their first HIT they had to answer a share of {study.qualification_share:g} of qualification "
            "pairs as expected."
        )
    excluded = raters.filter(excluded=True).count()
    withdrawn = study.annotators.exclude(withdrawn_at=None).count()
    yield f"Excluded by hand: {excluded}; withdrawn: {withdrawn}."


def _judges(study: Study) -> Iterator[str]:
    without_model: dict[tuple[str, str], list[str]] = {}
    for run in judges_of(study):
        judge, software = run.judge, run.software_version or "not recorded"
        versions = Judgment.objects.filter(run=run).exclude(prompt_version="").order_by()
        prompts = sorted(versions.values_list("prompt_version", flat=True).distinct())
        if judge.endpoint is None:
            without_model.setdefault((judge.method, software), []).append(judge.name)
            continue
        tables = "" if judge.table_endpoint is None else f", with tables by {judge.table_endpoint.model}"
        named = (f"{version} (SHA-256 {digest})" if (digest := _hash(run, version)) else version for version in prompts)
        yield (
            f"Judge {judge.name}: method {judge.method}, model {judge.endpoint.model}{tables}, "
            f"parameters {json.dumps(judge.params, sort_keys=True)}, order of the texts: {judge.get_order_display()}; "
            f"prompt {', '.join(named) or 'not recorded'}; software version {software}."
        )
    for (method, software), names in without_model.items():
        judges = f"{'Judge' if len(names) == 1 else 'Judges'} {', '.join(names)}"
        yield f"{judges}: method {method}, which asks no model here; software version {software}."


def _hash(run: JudgeRun, version: str) -> str:
    """Return the start of the hash of a prompt: of the researcher's own text, or of the files that come with Tandem."""
    if run.judge.prompt_file is not None:
        texts = [run.judge.prompt_file.text]
    else:
        texts = [path.read_text(encoding="utf-8") for path in files_named([version])]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12] if texts else ""


def _numbers(study: Study, findings: Mapping[str, Any]) -> Iterator[str]:
    filters = findings["filters"]
    measured = {
        (configuration["separability"]["similarity"], configuration["separability"]["normalisation"]["group"])
        for configuration in findings["configurations"]
        if configuration["separability"]
    }
    for similarity, group in sorted(measured):
        yield f"Separability is by {similarity}; similarities are put on a scale from 0 to 1, {_scale(group)}."
    over = "instances and raters" if filters["two_way"] else "instances"
    yield (
        f"{level_text(filters['level'])} intervals are over {over}. For shares, they are by Clopper and Pearson; for means, differences, α, κ and strengths, by Student’s t on the jackknife; for Elo ratings, by the percentile bootstrap. There "
        f"is none below {MIN_CLUSTERS} instances, of α, κ, strengths and win rates at equal lengths below "
        f"{MIN_FOR_STATISTIC}, of Elo ratings below {MIN_FOR_BOOTSTRAP}."
    )
    if findings.get("horizon"):
        yield (
            "Votes still came in, so intervals and tests of means, shares, differences and strengths are those of a confidence "
            "sequence: they hold at every look and are wider. Elo ratings have none until the batch is closed."
        )
    davidson = ", and in Bradley–Terry strengths as an outcome of its own (Davidson)" * (filters["ties"] != "half")
    yield (
        f"A tie counts as half a win{davidson}. Draws have the seed {filters['seed']}; the study’s seed is "
        f"{study.seed}."
    )
    yield f"Computed by Tandem {findings['version']}."


def _scale(group: str) -> str:
    """Say between which similarities the scale lies, by the group of normalisation."""
    if group == "configuration":
        return "from the smallest to the largest of each configuration; over all configurations, of the study"
    if group == "study":
        return "from the smallest to the largest of the study"
    constants = group.replace(",", ", ")
    return f"between the constants {constants}; over all configurations, from the smallest to the largest of the study"
