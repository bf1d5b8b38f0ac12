"""Computing a bundle's numbers again from its rows, and comparing them. No models."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reporting.bundle.layout import NUMBERS, BadBundle, Progress, silent
from reporting.bundle.numbers import OTHERS, all_numbers
from reporting.bundle.opening import Bundle, open_bundle
from reporting.bundle.structure import questions_of
from reporting.bundle.study_data import BundledStudy

MOST_LISTED = 20
MISSING = object()


def verify_bundle(folder: Path, progress: Progress = silent) -> Bundle:
    """Check a bundle's files against its manifest, and its numbers against its rows.

    Raises: BadBundle naming the file, or the numbers that differ.
    """
    bundle = open_bundle(folder)
    bundle.check_files(progress)
    check_numbers(bundle)
    return bundle


def check_numbers(bundle: Bundle) -> None:
    """Compute all numbers from the rows again.

    Raises: BadBundle listing those that differ.
    """
    study = BundledStudy(bundle)
    found = all_numbers(questions_of(bundle), bundle.study["settings"]["protocol"] == "two-stage", study.data)
    refuse_differences(bundle.numbers, found, "from the rows", words_too=bundle.is_of_this_version)


def refuse_differences(stated: Any, found: Any, where: str, *, words_too: bool) -> None:
    """Compare the stated numbers with those found `where`, to the last digit.

    words_too : whether texts must be the same too, and nothing may be found that is not stated: another version of the software
                words the answer in its own way, and may know of further numbers
    Raises: BadBundle listing the first that differ.
    """
    differing = list(_differences(_plain(stated, words_too), _plain(found, words_too), "", words_too))
    if differing:
        more = f"\n  and {len(differing) - MOST_LISTED:,} more" if len(differing) > MOST_LISTED else ""
        listed = "\n".join(f"  {one}" for one in differing[:MOST_LISTED])
        raise BadBundle(f"{len(differing):,} of {NUMBERS} differ from what follows {where}:\n{listed}{more}")


def _plain(numbers: Any, words_too: bool) -> Any:
    """Return numbers as they are in JSON, without the versions of the software that computed them."""
    found = json.loads(json.dumps(numbers))
    left = ("version",) if words_too else ("version", "answer")
    return {
        **{name: value for name, value in found.items() if name not in left},
        OTHERS: [{name: value for name, value in one.items() if name not in left} for one in found[OTHERS]],
    }


def _differences(stated: Any, found: Any, path: str, words_too: bool) -> Iterator[str]:
    if isinstance(stated, dict) and isinstance(found, dict):
        further = [name for name in found if name not in stated] if words_too else []
        for name in [*stated, *further]:
            inside = f"{path}.{name}" if path else name
            yield from _differences(stated.get(name, MISSING), found.get(name, MISSING), inside, words_too)
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for place, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]", words_too)
    elif isinstance(stated, str) and isinstance(found, str) and not words_too:
        return
    elif type(stated) is not type(found) or stated != found:
        yield f"{path}: stated {_shown(stated)}, found {_shown(found)}"


def _shown(value: Any) -> str:
    text = "nothing" if value is MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}…"
