"""Repaired preferences of a study as training data, for commands and the worker."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.ranking.refinement import Method
from annotation.core.errors import AnnotationError
from annotation.models import Study
from annotation.studies.questions import find_question
from reporting.exports.elsewhere import WantedVerdicts
from reporting.logic.preferences import Chosen, Preferences, read_preferences
from reporting.refinement.repaired import repair_study, report
from reporting.refinement.training_files import Options, write_training_data


@dataclass(frozen=True)
class Repair:
    """The verdicts to repair, and the scores to use. `seed` draws the orders of Elo."""

    wanted: WantedVerdicts
    method: Method = "win_loss"
    seed: int = 0

    def given(self, study: Study) -> Preferences:
        """Read the preferences.

        Raises: UnknownName.
        """
        wanted = self.wanted
        question = find_question(study, wanted.question).number
        return read_preferences(study, Chosen(tuple(wanted.raters), question, wanted.stage, wanted.dataset))


def write_refined(study: Study, out: Path, repair: Repair, options: Options) -> dict[str, Any]:
    """Rank each instance's texts, and write every implied preference. Return the changes and files.

    out : as of `write_training_data`
    Raises: UnknownName; AnnotationError where no ranking can be made; OSError.
    """
    repaired = repair_study(repair.given(study), method=repair.method, seed=repair.seed)
    raters = list(repair.wanted.raters)
    if not len(repaired.pairs):
        raise AnnotationError(f"{study.slug} has no preferences by {', '.join(raters)} to rank by; choose other raters")
    question = find_question(study, repair.wanted.question).text
    written = write_training_data(repaired, out, title=study.title, question=question, options=options)
    return {"study": study.slug, "raters": raters, "seed": repair.seed, **report(repaired), "written": written}
