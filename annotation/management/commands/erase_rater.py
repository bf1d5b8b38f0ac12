"""`erase_rater KEY [--study STUDY] [--keep-ratings] [--dry-run]`."""

from typing import Any

from django.utils import timezone

from annotation.core.counting import number_of
from annotation.management.commands._base import TandemCommand, argument
from annotation.privacy.erasing import Erased, due_to, erase_rater, erase_raters, find_raters
from annotation.studies.services import find_study


class Command(TandemCommand):
    help = (
        "Withdraw a rater and delete their account, platform ids, messages and votes. This can't be undone. "
        "Payments and consent answers stay under the rater's code."
    )

    arguments = (
        argument(
            "key",
            metavar="KEY",
            help="the rater's code (one study), or account name or platform id (all their studies)",
        ),
        argument("--study", metavar="STUDY", help="in this study only"),
        argument("--keep-ratings", action="store_true", help="delete only who they are; their ratings stay in results"),
        argument("--dry-run", action="store_true", help="only list whose data would be deleted, and where"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"]) if options["study"] else None
        raters = find_raters(options["key"], study)
        if options["dry_run"]:
            for rater in raters:
                before = f", erased at {rater.erased_at:%Y-%m-%d}" if rater.erased_at else ""
                self.say(f"{rater.study.slug}: rater {rater.code}{before}; pay due: {due_to(rater) or 'none'}")
            self.say("nothing was changed")
            return
        now = timezone.now()
        if study is None and not options["keep_ratings"] and options["key"] != raters[0].code:
            done = erase_raters(raters, by=None, at=now, everywhere=True)
        else:
            keeps_ratings = options["keep_ratings"]
            done = [erase_rater(annotator=rater, by=None, at=now, keep_ratings=keeps_ratings) for rater in raters]
        for erased in done:
            self.say(_describe(erased))


def _describe(erased: Erased) -> str:
    if not erased.changed:
        outcome = "nothing left to delete"
    elif erased.ratings is None:
        outcome = "personal data deleted, ratings kept"
    else:
        outcome = f"withdrawn, personal data and {number_of(erased.ratings, 'vote')} deleted"
    account = {True: "; account deleted", False: "; account kept: it has other roles or studies", None: ""}
    pay_due = f"; {erased.due} {erased.currency} still due under this code" if erased.due else ""
    return f"{erased.study}: rater {erased.rater}: {outcome}{account[erased.account]}{pay_due}"
