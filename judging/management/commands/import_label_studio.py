"""`import_label_studio FILE --study SLUG`."""

from annotation.management.commands._base import argument
from judging.management.commands._elsewhere import ImportCommand, files_and_study


class Command(ImportCommand):
    help = (
        "Import Label Studio's pairwise tasks into a new or existing study: annotations as ratings, predictions as "
        "judgments."
    )
    arguments = files_and_study(
        "label-studio",
        argument("--source", default="", metavar="NAME", help="of the source in a task's data (default: prompt)"),
        argument("--left", default="", metavar="NAME", help="of the left text (default: left)"),
        argument("--right", default="", metavar="NAME", help="of the right text (default: right)"),
    )
    kind = "label-studio"
    reader_options = ("dataset", "source", "left", "right")
