"""The folder for the counters of a web server's processes: one for each server, removed when it ends."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = "tandem-metrics-"


@contextmanager
def metrics_folder() -> Iterator[str]:
    """Make a folder for the time of the `with` block, and remove those of supervisors that were killed.

    Its supervisor holds a lock on the folder, which ends with the process.
    """
    for other in Path(tempfile.gettempdir()).glob(f"{NAME}*"):
        with suppress(OSError), _locked(other):  # another's that is in use, or another user's
            shutil.rmtree(other)
    made = Path(tempfile.mkdtemp(prefix="tandem-starting-"))
    with _locked(made):  # before it has a name that another start looks for
        folder = made.rename(made.with_name(made.name.replace("tandem-starting-", NAME)))
        try:
            yield str(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Raise OSError where another process holds the lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
