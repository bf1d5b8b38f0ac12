"""`import_ratings FILE --study SLUG`."""

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError

from annotation.core.counting import number_of
from annotation.core.files.mapping import parse_mapping
from annotation.core.reasons import Reason, reason
from annotation.importing.comparisons import import_votes
from annotation.importing.formats.study_file import DEFAULT_DATASET
from annotation.importing.notices import with_notices
from annotation.importing.rating_files import import_ratings
from annotation.importing.ratings import StoredRatings
from annotation.management.commands._base import TandemCommand, argument, find_file
from annotation.management.commands._settings import MAP, NEW_STUDY, study_settings
from annotation.models import Study


class Command(TandemCommand):
    help = "Import ratings of a study's pairs (long form), or with --texts votes with a winner and their texts."

    arguments = (
        argument("file"),
        argument("--study", required=True, metavar="SLUG"),
        argument("--scripted", action="store_true", help="the raters are programs; label them wherever shown"),
        argument("--texts", metavar="FILE", help="FILE holds votes with a winner; this file holds their texts"),
        argument("--dataset", default=DEFAULT_DATASET, help="data set of the votes (with --texts)"),
        MAP,
        NEW_STUDY,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        data, name = find_file(options["file"])
        if options["texts"] is None:
            more: dict[str, Any] = {"scripted": options["scripted"], "mapping": parse_mapping(options["map"])}
            study, ratings = import_ratings(data=data, name=name, slug=options["study"], **more)
            self._report(name, study, ratings, notices=ratings.notices)
            if ratings.checks:
                self.stderr.write(
                    f"notice: left out: {number_of(ratings.checks, 'rating')} of qualifications and hidden checks"
                )
            return
        if options["scripted"] or options["map"]:
            raise CommandError("--scripted and --map are for long-form ratings, not for --texts")
        texts, texts_name = find_file(options["texts"])
        files: dict[str, Any] = {"data": data, "name": name, "texts": texts, "texts_name": texts_name}
        settings = {"dataset": options["dataset"], **study_settings(options)}
        study, stored, ratings = import_votes(slug=options["study"], **files, **settings)
        self._report(name, study, ratings, instances=stored.added, notices=(*stored.notices, *ratings.notices))

    def _report(
        self, name: str, study: Study, ratings: StoredRatings, instances: int = 0, notices: Sequence[Reason] = ()
    ) -> None:
        if not ratings.added and not instances:
            contents = reason("ratings", number=ratings.unchanged)
            self.say(with_notices(reason("nothing_new_of", name=name, contents=contents, study=study.slug), notices))
            return
        parts = [number_of(instances, "instance")] * bool(instances) + [f"{number_of(ratings.added, 'rating')} added"]
        parts += [f"{ratings.unchanged} already imported"] * bool(ratings.unchanged)
        self.say(with_notices(f"{name}: {', '.join(parts)} (study {study.slug})", notices))
