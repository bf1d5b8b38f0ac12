"""A page as PDF, by a headless Chromium where one is installed."""

import logging
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

log = logging.getLogger(__name__)
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 120


def browser() -> str | None:
    """Return the path of an installed Chromium, if there is one."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def write_pdf(page: Path, target: Path) -> bool:
    """Print a page, which loads nothing else; return whether there is a PDF."""
    program = browser()
    if program is None:
        return False
    with tempfile.TemporaryDirectory() as profile:
        command = [program, "--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={profile}"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses to run as root
        command += [f"--print-to-pdf={target}", page.resolve().as_uri()]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            log.warning("no PDF of the report: %s", error)
            return False
    return target.is_file()
