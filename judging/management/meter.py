"""The progress display of a run in the terminal."""

import shutil
import time
from typing import Any

from annotation.core.counting import number_of
from annotation.core.tasks.progress import Rate
from judging.core.pricing import money
from judging.jobs.progress import Progress

BAR = 24  # characters


class Meter:
    """Writes progress: one line that is updated on a terminal, else a line every few seconds."""

    def __init__(self, out: Any) -> None:
        self.out = out
        self.moving = bool(getattr(out, "isatty", lambda: False)())
        self.pause = 0.2 if self.moving else 10.0
        self.last = time.monotonic()
        self.rate = Rate()
        self.progress = Progress()  # the latest

    def __call__(self, progress: Progress) -> None:
        """Write the progress unless it was written just now."""
        now, self.progress = time.monotonic(), progress
        self.rate.begin(progress.done)
        if now - self.last >= self.pause:
            self.last = now
            self.write()

    def close(self, progress: Progress | None = None) -> None:
        """Write the final progress, by default the latest."""
        self.progress = progress or self.progress
        self.write()
        if self.moving:
            self.out.write("")

    def write(self) -> None:
        """Write one line, cut to the terminal's width."""
        line = line_of(self.progress, self.rate.at(self.progress.done), bar=self.moving)
        if self.moving:
            width = shutil.get_terminal_size().columns - 1
            self.out.write(f"\r{line[:width].ljust(width)}", ending="")
        else:
            self.out.write(line)


def line_of(progress: Progress, rate: float, *, bar: bool = False) -> str:
    """Format progress, rate, time left, usage and failures."""
    share = progress.done / progress.total if progress.total else 1.0
    drawn = f"[{'#' * round(BAR * share):<{BAR}}] " if bar else ""
    parts = [f"{drawn}{progress.done}/{progress.total} done", *([f"{rate:.1f} a second"] if rate >= 0.05 else [])]
    if rate > 0 and progress.done < progress.total:
        parts.append(f"{duration((progress.total - progress.done) / rate)} left")
    parts.append(f"{number_of(progress.calls, 'call')}, {progress.cached} cached")
    if progress.cost:
        parts.append(money(progress.cost, progress.currency))
    elif progress.cost is None and progress.calls:
        parts.append("cost unknown")
    if progress.allowed:
        parts.append(f"{progress.in_flight} of {progress.allowed} in flight")
    outcomes = [f"{number} {kind}" for kind, number in sorted(progress.ended.items()) if kind != "parsed" and number]
    by_number = sorted(progress.errors.items(), key=lambda entry: (-entry[1], entry[0]))
    failed = [f"{number} × {kind}" for kind, number in by_number if number]
    return "; ".join([", ".join(parts), *outcomes, *([f"failed calls: {', '.join(failed)}"] if failed else [])])


def duration(seconds: float) -> str:
    """Format a duration in its two largest units."""
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds_left} s" if minutes else f"{seconds_left} s"
