"""Makes `time.sleep` work under libfaketime 0.9.10, which takes the end of a sleep on the monotonic clock for a wrong one."""

import select
import time


def sleep(seconds: float) -> None:
    """Wait for so long on the clock that does not jump."""
    select.select([], [], [], seconds)


time.sleep = sleep
