"""Steps of `bench.imports`, each in a process of its own; prints JSON.

python -m bench._import_run (prepare | vote | COMMAND FILE)
"""

import json
import os
import resource
import select
import sys
import time

import django

STUDY = "talk"
PAUSE = 0.1  # seconds between two votes
PAIRS = 100  # of the HIT that is voted on


def prepare() -> None:
    """Make a database with one study."""
    from django.core.management import call_command

    from annotation.importing.study_files import import_study

    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)
    texts = {system: [f"{system} {n}" for n in range(PAIRS)] for system in ("heron", "wren")}
    line = {"instance_id": "first", "dataset": "own", "source": "s", "generations": texts}
    import_study(data=json.dumps(line).encode(), name="first.jsonl", slug=STUDY)


def vote() -> list[float]:
    """Publish a HIT, and vote on it until there is input. Return how long each vote took, in milliseconds."""
    from django.utils import timezone

    from annotation.allocation.claims import claim_hit
    from annotation.annotators.consent import answer_consent
    from annotation.batches.sampling import BatchSpec, SelectionSpec
    from annotation.batches.services import create_batch
    from annotation.members.accounts import annotator_for, grant_role
    from annotation.models import Study
    from annotation.rating.votes import save_vote
    from annotation.studies.configurations import configuration

    study = Study.objects.get(slug=STUDY)
    own = configuration(study, dataset="own", systems=("heron", "wren"))
    spec = BatchSpec(own, pairs=PAIRS, raters=1, seed=1, selection=SelectionSpec("all"))
    create_batch(spec=spec, name="own", status="open")
    user, _ = grant_role(username="rater", role="annotator", place=study)
    annotator = annotator_for(user=user, study=study)
    answer_consent(annotator=annotator, accepted=True, at=timezone.now())
    assignment = claim_hit(annotator=annotator, at=timezone.now())
    pairs = assignment.displays.values_list("pair__key", flat=True)[:]
    taken: list[float] = []
    while not select.select([sys.stdin], [], [], PAUSE)[0]:
        start = time.perf_counter()
        pair, choice = pairs[len(taken) % PAIRS], ("left", "right")[len(taken) // PAIRS % 2]
        save_vote(assignment=assignment, pair_key=pair, choice=choice, at=timezone.now())
        taken.append(1000 * (time.perf_counter() - start))
    return taken


def main(what: str, *files: str) -> object:
    """Run one step, and return what it measured."""
    from django.core.management import call_command

    if what == "prepare":
        prepare()
        return None
    if what == "vote":
        return vote()
    before, start, started = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        time.perf_counter(),
        time.process_time(),
    )
    call_command(what, *files, "--study", STUDY, stdout=sys.stderr)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"seconds": time.perf_counter() - start, "processor": time.process_time() - started, "grown": grown}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps(main(*sys.argv[1:])))
