"""The example study: texts, comparison tables and ratings of scripted raters, for a newcomer to look at."""

from itertools import count

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from annotation.importing.new_studies import create_study
from annotation.importing.rating_files import import_ratings
from annotation.importing.tables import import_tables
from annotation.models import ResearchGroup, Study
from annotation.models.studies import TaskKind
from annotation.studies.presets import BLANK, find_template

NAME = "example"
TITLE = "Example: summaries of short dialogues"
FOLDER = settings.BASE_DIR / "examples"


@transaction.atomic
def load_example(*, group: ResearchGroup, by: User) -> Study:
    """Create a study from the example's files, under the first name that is free. `by` becomes its study admin."""
    names = (NAME if number == 1 else f"{NAME}-{number}" for number in count(1))
    slug = next(name for name in names if not Study.objects.filter(slug=name).exists())
    texts = {"kind": "study", "data": (FOLDER / "study.jsonl").read_bytes(), "name": "study.jsonl"}
    study, _summary = create_study(
        slug=slug,
        group=group,
        settings={"title": TITLE, "task_kind": TaskKind.SUMMARIZATION},
        template=find_template(BLANK),
        by=by,
        file={**texts, "dataset": "", "system_1": "", "system_2": ""},
    )
    import_tables(data=(FOLDER / "tables.jsonl").read_bytes(), name="tables.jsonl", slug=slug)
    import_ratings(data=(FOLDER / "ratings.csv").read_bytes(), name="ratings.csv", slug=slug, scripted=True)
    return study
