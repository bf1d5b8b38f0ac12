"""Draws pictures in a program of its own, which ends when no picture has been asked for in a minute.

The library that draws, a browser engine, takes 50 MB and more, which a process that serves pages would keep for good; and where it
fails, it may end its process. This module is also the program, which needs nothing of Django's: it reads a request as a line of
JSON, [function of vl_convert, its argument, its options], and answers with a line, [number of bytes, whether they say an error],
and these bytes.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from threading import RLock, Timer
from typing import IO, Any, cast

IDLE_SECONDS = 60.0


class Renderer:
    """Starts the program when it is needed. Pictures are drawn one after another."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self.idle_seconds = idle_seconds
        self.program: subprocess.Popen[bytes] | None = None
        self._lock = RLock()
        self._idle = self._timer()

    def draw(self, function: str, drawn: Any, **options: Any) -> bytes:
        """Return what a function of vl_convert makes of a specification or an SVG.

        Raises: ValueError if it makes nothing of it; EOFError if the program ends at it.
        """
        request = json.dumps([function, drawn, options], allow_nan=False).encode() + b"\n"
        with self._lock:
            self._idle.cancel()
            try:
                answer, is_error = self._ask(request)
            except (OSError, EOFError):  # it was killed since the last picture, or failed
                self.close()
                answer, is_error = self._ask(request)
            self._idle = self._timer()
            self._idle.start()
        if is_error:
            raise ValueError(answer.decode())
        return answer

    def _ask(self, request: bytes) -> tuple[bytes, bool]:
        if self.program is None:
            command = [sys.executable, "-P", __file__]
            self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        requests, answers = cast("IO[bytes]", self.program.stdin), cast("IO[bytes]", self.program.stdout)
        requests.write(request)
        requests.flush()
        if not (head := answers.readline()):
            raise EOFError("the program that draws pictures has ended")
        size, is_error = json.loads(head)
        return answers.read(size), is_error

    def close(self) -> None:
        """End the program, if it runs."""
        with self._lock:
            if self.program is not None:
                self.program.kill()
                self.program.communicate()
                self.program = None

    def forget(self) -> None:
        """Leave the program to the process that this one was forked from."""
        self.program, self._lock = None, RLock()

    def _timer(self) -> Timer:
        timer = Timer(self.idle_seconds, self.close)
        timer.daemon = True
        return timer


RENDERER = Renderer()
atexit.register(RENDERER.close)
os.register_at_fork(after_in_child=RENDERER.forget)


def main() -> None:
    """Answer requests until the process that sends them closes the pipe, or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, with which this ends
    import vl_convert

    for line in sys.stdin.buffer:
        function, drawn, options = json.loads(line)
        try:
            output, is_error = getattr(vl_convert, function)(drawn, **options), False
        except ValueError as error:
            output, is_error = str(error), True
        answer = output.encode() if isinstance(output, str) else bytes(output)
        sys.stdout.buffer.write(json.dumps([len(answer), is_error]).encode() + b"\n" + answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
