"""Find the Chromium that browser tests drive.

usage: find_chromium.py        print its path, or how to install it (exit code 1)
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# Browser tests take half the processor time with the headless shell.
COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_APPS = (
    "Chromium.app/Contents/MacOS/Chromium",
    "Google Chrome.app/Contents/MacOS/Google Chrome",
)


class ChromiumMissing(Exception):
    """No working Chromium is installed; the message says how to install one."""


def find_chromium() -> str:
    """Return the path of a working Chromium or Chrome: that of CHROMIUM if it is set, else the first found."""
    named = os.environ.get("CHROMIUM")
    if named:
        path = shutil.which(named)
        if path is None or not runs(path):
            raise ChromiumMissing(f"CHROMIUM is {named}, which does not run.")
        return path
    found = [path for path in map(shutil.which, COMMANDS) if path is not None]
    found += [str(path) for path in mac_apps() if path.exists()]
    for path in found:
        if runs(path):
            return path
    raise ChromiumMissing(f"The browser tests need Chromium. {how_to_install()}")


def mac_apps() -> list[Path]:
    """Return the paths of Chromium and Chrome on macOS, system-wide and for this user."""
    return [folder / app for folder in (Path("/Applications"), Path.home() / "Applications") for app in MAC_APPS]


def runs(path: str) -> bool:
    """Tell whether the program is a browser; Ubuntu's `chromium-browser` may be a stub that asks for a snap."""
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0 and b"chrom" in asked.stdout.lower()


def how_to_install() -> str:
    """Return the install command for this operating system."""
    if sys.platform == "darwin":
        command = "brew install --cask chromium"
    elif is_ubuntu():
        command = "sudo snap install chromium"
    else:
        command = "sudo apt-get install chromium"
    return f"Install it with: {command} (or set CHROMIUM to the path of a Chromium-based browser)."


def is_ubuntu() -> bool:
    """Tell whether this is Ubuntu, which packages Chromium as a snap only."""
    release = Path("/etc/os-release")
    return release.exists() and "ID=ubuntu" in release.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    try:
        print(find_chromium())
    except ChromiumMissing as missing:
        sys.exit(str(missing))
