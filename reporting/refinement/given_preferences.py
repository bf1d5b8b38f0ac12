"""Verdicts of people or judges as they were given, in a folder: as training data, or in the forms of other tools."""

from pathlib import Path
from tempfile import TemporaryDirectory

from annotation.core.database.snapshot import one_snapshot
from annotation.core.errors import UnknownName
from annotation.models import Rating, Study
from annotation.studies.questions import find_question
from judging.models import Judgment
from reporting.exports.elsewhere import MAJORITY, TIES, WRITERS, WantedVerdicts
from reporting.logic.preferences import PEOPLE, Chosen, read_preferences
from reporting.refinement.training_files import FORMS as TRAINING
from reporting.refinement.training_files import AsGiven, Options, write_ties, write_training_data

FORMS = (*TRAINING, *WRITERS)
MOST_COUNTED = 20_000  # verdicts of a study: a few seconds
FILES = {"trl": "preferences.jsonl", "instruction": "instructions.jsonl", "hf": ""}


def write_preferences(study: Study, out: Path, form: str, selection: WantedVerdicts) -> dict[str, int]:
    """Write a study's verdicts as they are at one moment into a folder. Return the rows of each file.

    form : of FORMS
    Raises: UnknownName; AnnotationError of the form; OSError if a file can't be written.
    """
    refuse_unknown(study, selection)
    out.mkdir(parents=True, exist_ok=True)
    with one_snapshot():
        return WRITERS[form](study, out, selection) if form in WRITERS else _train(study, out, form, selection)


def count_preferences(study: Study, form: str, selection: WantedVerdicts) -> dict[str, int] | None:
    """Return the rows of each file that `write_preferences` would write, or None where counting them would take long.

    Raises: as `write_preferences`.
    """
    ratings = Rating.objects.filter(display__assignment__hit__batch__study=study)[: MOST_COUNTED + 1].count()
    judgments = Judgment.objects.filter(run__study=study)[: MOST_COUNTED + 1].count()
    if ratings + judgments > MOST_COUNTED:
        return None
    with TemporaryDirectory() as folder:
        return write_preferences(study, Path(folder), form, selection)


def refuse_unknown(study: Study, selection: WantedVerdicts) -> None:
    """Refuse a question, data set or system that is not there, and a name that is neither people nor a judge of the study.

    Raises: UnknownName.
    """
    find_question(study, selection.question)
    if selection.dataset and not study.instances.filter(dataset=selection.dataset).exists():
        raise UnknownName(f"study {study.slug} has no data set {selection.dataset}")
    systems = list(study.systems.order_by("position").values_list("name", flat=True))
    if unknown := [name for name in selection.systems if name not in systems]:
        raise UnknownName(f"study {study.slug} has no system {', '.join(unknown)}; it has {', '.join(systems)}")
    raters = [PEOPLE, *(f"judge:{name}" for name in study.judge_runs.values_list("judge__name", flat=True).distinct())]
    if strangers := [name for name in selection.raters if name not in raters]:
        raise UnknownName(
            f"study {study.slug} has no ratings by {', '.join(strangers)}; it has those of {', '.join(raters)}"
        )


def _train(study: Study, out: Path, form: str, selection: WantedVerdicts) -> dict[str, int]:
    question = find_question(study, selection.question)
    choice = Chosen(
        tuple(selection.raters), question.number, selection.stage, selection.dataset, tuple(selection.systems)
    )
    given = read_preferences(study, choice)
    preferences = AsGiven(given.majorities() if selection.votes == MAJORITY else given)
    options = Options(form, without=selection.without)
    path = out / FILES[form] if FILES[form] else out
    written = write_training_data(preferences, path, title=study.title, question=question.text, options=options)
    if form == "trl" and TIES not in selection.without:
        written[str(out / "ties.jsonl")] = write_ties(preferences, out / "ties.jsonl", selection.without)
    return {Path(name).name: rows for name, rows in written.items()}
