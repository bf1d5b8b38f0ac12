"""How a study was made, in sentences written from its settings."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analysis.intervals import MIN_FOR_BOOTSTRAP, MIN_FOR_STATISTIC
from analysis.jackknife import MIN_CLUSTERS
from annotation.batches.chosen import chosen_in_words
from annotation.core.units import counted
from annotation.models import Annotator, Assignment, Batch, Consent, Hit, Study
from annotation.studies.configurations import configurations as known_configurations
from annotation.studies.outcomes import select_each
from judging.methods.prompts import files_named
from judging.models import Endpoint, Judge, JudgeRun, Judgment
from judging.outcomes.judgments import judges_of
from reporting.core.text import level_text

MOST_BATCHES = 5  # described one by one


def methods_of(study: Study, found: Mapping[str, Any]) -> list[str]:
    """Return a paragraph each on the task, the batches, the people, the judges, and the numbers."""
    paragraphs = (_task(study, found), _batches(study), _people(study), _judges(study), _numbers(study, found))
    return [text for one in paragraphs if (text := " ".join(one))]


def _task(study: Study, found: Mapping[str, Any]) -> Iterator[str]:
    configurations = found["configurations"]
    systems = {one[side] for one in configurations for side in ("system_a", "system_b")}
    selections = select_each(study, known_configurations(study, checks=False))
    compared = {(one.configuration.dataset, name) for one in selections for name in one.instance_ids}
    yield _("Task: %(kind)s. Outputs of %(systems)s were compared on %(instances)s in %(pairs)s.") % {
        "kind": study.get_task_kind_display(),
        "systems": ngettext("%(n)d system", "%(n)d systems", len(systems)) % {"n": len(systems)},
        "instances": _instances(len(compared)),
        "pairs": _pairs(sum(one["pairs"] for one in configurations)),
    }
    for question in study.questions:
        yield _("Asked was: “%(question)s”.") % {"question": question.text}
        if not question.ties_allowed:
            yield _("“No preference” was not on offer.")
    if study.is_two_stage:
        yield _("Raters rated each pair a second time, in the arms %(arms)s.") % {"arms": ", ".join(study.arms)}


def _instances(number: int) -> str:
    return ngettext("%(n)d instance", "%(n)d instances", number) % {"n": number}


def _pairs(number: int) -> str:
    return ngettext("%(n)d pair", "%(n)d pairs", number) % {"n": number}


def _batches(study: Study) -> Iterator[str]:
    from_elsewhere = Q(origin=Batch.Origin.IMPORTED, purpose=Batch.Purpose.RATING)
    batches, imported = list(study.batches.all()), list(study.batches.filter(from_elsewhere))
    if len(imported) > MOST_BATCHES:
        batches = list(study.batches.exclude(from_elsewhere))
        yield _(
            "The ratings of %(n)d batches were collected elsewhere and imported: %(hits)s; submissions: %(done)d."
        ) % _sums(imported)
    for batch in batches[:MOST_BATCHES]:
        yield from _batch(batch)
    if further := batches[MOST_BATCHES:]:
        yield ngettext(
            "%(n)d further batch: %(hits)s; submissions: %(done)d.",
            "%(n)d further batches: %(hits)s; submissions: %(done)d.",
            len(further),
        ) % _sums(further)


def _sums(batches: list[Batch]) -> dict[str, Any]:
    """Return how many batches and HITs there are, and how often these were submitted by those who have not withdrawn."""
    done = Assignment.objects.filter(state=Assignment.State.SUBMITTED, annotator__withdrawn_at=None)
    of = {"batch__in": batches}
    return {
        "n": len(batches),
        "hits": counted(Hit.objects.filter(**of).count(), "HITs"),
        "done": done.filter(hit__batch__in=batches).count(),
    }


def _batch(batch: Batch) -> Iterator[str]:
    what = {
        "batch": batch.name,
        "spec": batch.selection.get("asked", {}).get("spec") or batch.selection.get("spec"),
        "seed": batch.seed,
        "chosen": _chosen(batch),
        "pairs": counted(batch.pairs_per_hit, "pairs"),
        "raters": counted(batch.raters_per_hit, "raters"),
        **_sums([batch]),
    }
    if batch.purpose != Batch.Purpose.RATING:
        yield _("Batch %(batch)s (%(hits)s) assessed the raters and enters no finding.") % what
    elif batch.origin == Batch.Origin.IMPORTED:
        yield (
            _("The ratings of batch %(batch)s were collected elsewhere and imported: %(hits)s; submissions: %(done)d.")
            % what
        )
    else:
        known, unknown = (
            _("Batch %(batch)s: %(chosen)s (%(spec)s, seed %(seed)d)."),
            _("Batch %(batch)s: how its instances were chosen is not recorded."),
        )
        yield (known if what["spec"] else unknown) % what
        yield (
            _("It has %(hits)s, each with N = %(pairs)s of one instance, for R = %(raters)s; submissions: %(done)d.")
            % what
        )
    if batch.gold_rate or batch.repeat_rate:
        yield _("Of a rater's HITs %(gold)g were hidden checks with a known answer, %(repeat)g hidden repeats.") % {
            "gold": batch.gold_rate,
            "repeat": batch.repeat_rate,
        }


def _chosen(batch: Batch) -> str:
    """Say how the instances of a batch were chosen; the latest choice, where it was extended."""
    spec = str(batch.selection.get("asked", {}).get("spec") or batch.selection.get("spec") or "")
    return chosen_in_words(spec)


def _people(study: Study) -> Iterator[str]:
    raters = study.annotators.filter(Exists(Assignment.objects.filter(annotator=OuterRef("pk"))), withdrawn_at=None)
    people = raters.exclude(kind=Annotator.Kind.SCRIPTED)
    kinds = Counter(one.get_kind_display() for one in people)
    listed = ", ".join(f"{kind}: {count}" for kind, count in sorted(kinds.items()))
    if number := sum(kinds.values()):
        yield ngettext("%(n)d person took part (%(kinds)s).", "%(n)d people took part (%(kinds)s).", number) % {
            "n": number,
            "kinds": listed,
        }
    if programs := raters.count() - number:
        yield ngettext(
            "%(n)d program rated in the place of a person.", "%(n)d programs rated in the place of people.", programs
        ) % {"n": programs}
    if not number + programs:
        return
    channels = sorted(
        {channel.get_kind_display() for channel in study.channels.filter(participants__annotator__in=raters)}
    )
    if channels:
        yield _("They came through: %(channels)s.") % {"channels": ", ".join(map(str, channels))}
    if study.pay_per_hit:
        yield _("A HIT was paid with %(pay)s %(currency)s.") % {"pay": study.pay_per_hit, "currency": study.currency}
    consents = Consent.objects.filter(annotator__in=people, accepted=True).order_by("version")
    if versions := consents.values_list("version", flat=True).distinct():
        yield _("They consented to the text of version %(versions)s.") % {"versions": ", ".join(map(str, versions))}
    if study.batches.filter(purpose=Batch.Purpose.QUALIFICATION).exists():
        yield _(
            "Before their first HIT they had to answer a share of %(share)g of qualification pairs as expected."
        ) % {"share": study.qualification_share}
    excluded = raters.filter(excluded=True).count()
    withdrawn = study.annotators.exclude(withdrawn_at=None).count()
    yield _("Excluded by hand: %(excluded)d; withdrawn: %(withdrawn)d.") % {
        "excluded": excluded,
        "withdrawn": withdrawn,
    }


def _judges(study: Study) -> Iterator[str]:
    for run in judges_of(study):
        judge = run.judge
        versions = Judgment.objects.filter(run=run).exclude(prompt_version="").order_by()
        prompts = sorted(versions.values_list("prompt_version", flat=True).distinct())
        if judge.endpoint is None:
            asks_none = _("Judge %(judge)s: method %(method)s, which asks no model here; software version %(version)s.")
            yield asks_none % {"judge": judge.name, "method": judge.method, "version": _version_of(run)}
            continue
        yield _(
            "Judge %(judge)s: method %(method)s, model %(model)s, parameters %(params)s, order of the texts: %(order)s; prompt "
            "%(prompts)s; software version %(version)s."
        ) % {
            "judge": judge.name,
            "method": judge.method,
            "model": _model_of(judge, judge.endpoint),
            "params": json.dumps(judge.params, sort_keys=True),
            "order": judge.get_order_display(),
            "prompts": ", ".join(f"{one} (SHA-256 {digest})" if (digest := _hash(run, one)) else one for one in prompts)
            or _("not recorded"),
            "version": _version_of(run),
        }


def _version_of(run: JudgeRun) -> str:
    return run.software_version or _("not recorded")


def _model_of(judge: Judge, endpoint: Endpoint) -> str:
    """Name the model that a judge asks, and that of its tables where it is another one."""
    if judge.table_endpoint is None:
        return endpoint.model
    models = {"model": endpoint.model, "tables": judge.table_endpoint.model}
    return _("%(model)s, with tables by %(tables)s") % models


def _hash(run: JudgeRun, version: str) -> str:
    """Return the start of the hash of a prompt: of the researcher's own text, or of the files that come with Tandem."""
    if run.judge.prompt_file is not None:
        texts = [run.judge.prompt_file.text]
    else:
        texts = [path.read_text(encoding="utf-8") for path in files_named([version])]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12] if texts else ""


def _numbers(study: Study, found: Mapping[str, Any]) -> Iterator[str]:
    filters = found["filters"]
    measured = {
        (one["separability"]["similarity"], one["separability"]["normalisation"]["group"])
        for one in found["configurations"]
        if one["separability"]
    }
    for similarity, group in sorted(measured):
        yield _("Separability is by %(similarity)s; similarities are put on a scale from 0 to 1, %(scale)s.") % {
            "similarity": similarity,
            "scale": _scale(group),
        }
    yield _(
        "Intervals are %(level)s intervals over instances%(two_way)s: of shares by Clopper and Pearson, of means, differences, α, κ "
        "and strengths by Student’s t on the jackknife, of Elo ratings by the percentile bootstrap. There is none below %(few)d "
        "instances, of α, κ, strengths and win rates at equal lengths below %(some)d, of Elo ratings below %(many)d."
    ) % {
        "level": level_text(filters["level"]),
        "two_way": _(" and raters") if filters["two_way"] else "",
        "few": MIN_CLUSTERS,
        "some": MIN_FOR_STATISTIC,
        "many": MIN_FOR_BOOTSTRAP,
    }
    yield _("A tie counts as half a win%(ties)s. Draws have the seed %(seed)d; the study’s seed is %(study)d.") % {
        "ties": _(", and in Bradley–Terry strengths as an outcome of its own (Davidson)") * (filters["ties"] != "half"),
        "seed": filters["seed"],
        "study": study.seed,
    }
    yield _("Computed by Tandem %(version)s.") % {"version": found["version"]}


def _scale(group: str) -> str:
    """Say between which similarities the scale lies, by the group of normalisation."""
    if group == "configuration":
        return _("from the smallest to the largest of each configuration")
    if group == "study":
        return _("from the smallest to the largest of the study")
    return _("between the constants %(bounds)s") % {"bounds": group.replace(",", ", ")}
