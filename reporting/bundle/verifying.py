"""Computing a bundle's numbers again from its rows, and comparing them. No models."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from reporting.bundle.layout import NUMBERS, BadBundle, Progress, silent
from reporting.bundle.numbers import Numbers, all_numbers, parts_of
from reporting.bundle.opening import Bundle, open_bundle
from reporting.bundle.study_data import BundledStudy

MOST_LISTED = 20
MISSING = object()
ANSWER = "answer"
# Under these a text names what a number is of.
NAMES = {
    *("study", "question", "dataset", "batch", "instance", "similarity"),
    *("rater", "raters", "wording", "judge", "judge_a", "judge_b"),
    *("system", "system_a", "system_b", "systems", "opponent", "first", "second", "arm", "control", "variant"),
    *("similarities", "label", "between", "models", "cut"),
    *("subset", "method", "model", "wording"),
    *("endpoint", "table_endpoint", "table_model", "table_variant", "scheme", "aspects"),
}


def verify_bundle(folder: Path, progress: Progress = silent) -> Bundle:
    """Check a bundle's files against its manifest, and its numbers against its rows.

    Raises: BadBundle naming the file, or the numbers that differ.
    """
    bundle = open_bundle(folder)
    bundle.check_files(progress)
    return replace(bundle, reworded=check_numbers(bundle))


def check_numbers(bundle: Bundle) -> int:
    """Compute all numbers from the rows again; return how many texts are worded otherwise (see `refuse_differences`).

    Raises: BadBundle listing those that differ.
    """
    found = all_numbers(BundledStudy(bundle), pages=bundle.states_pages)
    return refuse_differences(bundle.numbers, found, "from the rows")


def refuse_differences(stated: Numbers, found: Numbers, where: str, *, other_name: bool = False) -> int:
    """Compare the stated numbers, and the names beside them, with those found `where`, to the last digit.

    other_name : whether the study may have another name
    returns : how much else differs: sentences and codes, the answer's among them, and what is found and not stated. Code of
              another day words these in its own way, and may know of further numbers; of the same code there are none
    Raises: BadBundle listing the first that differ.
    """
    without = ("version", "study") if other_name else ("version",)
    listed = list(_differences(_plain(stated, without), _plain(found, without), ""))
    differing = [told for told, is_number in listed if is_number]
    if differing:
        more = f"\n  and {len(differing) - MOST_LISTED:,} more" if len(differing) > MOST_LISTED else ""
        shown = "\n".join(f"  {one}" for one in differing[:MOST_LISTED])
        raise BadBundle(f"{len(differing):,} of {NUMBERS} differ from what follows {where}:\n{shown}{more}")
    return len(listed)


def _plain(numbers: Numbers, without: Iterable[str]) -> Numbers:
    """Return numbers as they are in JSON, without what tells by which software, or of which study, they are."""
    found: Numbers = json.loads(json.dumps(numbers))
    for part in parts_of(found):
        for name in without:
            part.pop(name, None)
    return found


def _differences(stated: Any, found: Any, path: str, key: str = "") -> Iterator[tuple[str, bool]]:
    """Yield what differs, and whether it is a number, or a name beside one."""
    if key == ANSWER and stated != found:
        yield path, False
    elif isinstance(stated, dict) and isinstance(found, dict):
        yield from ((f"{path}.{name}", False) for name in found if name not in stated)
        for name, value in stated.items():
            yield from _differences(value, found.get(name, MISSING), f"{path}.{name}" if path else name, name)
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for place, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _differences(one, other, f"{path}[{place}]", key)
    elif type(stated) is not type(found) or stated != found:
        is_text = isinstance(stated, str) and (isinstance(found, str) or found is MISSING) and key not in NAMES
        yield f"{path}: stated {_shown(stated)}, found {_shown(found)}", not is_text


def _shown(value: Any) -> str:
    text = "nothing" if value is MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}…"
