"""Which process does something: on this machine, or in this container on it, and whether it is known to be gone."""

import hashlib
import os
import secrets
import socket
from contextlib import suppress


def this_machine() -> str:
    """Name this machine, or this container on it: where process ids mean the same."""
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(f"{socket.gethostname()}\x00{space}".encode()).hexdigest()[:16]


def this_process() -> str:
    """Name this process, for `is_gone`; two names of one process differ."""
    return f"{this_machine()}:{os.getpid()}:{secrets.token_hex(8)}"


def is_gone(name: str) -> bool:
    """Tell whether a process of this machine has ended; of another machine's nothing is known."""
    machine, _, rest = name.partition(":")
    process = rest.partition(":")[0]
    if machine != this_machine() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
