"""Names of processes, for rows that say which process works on them."""

import hashlib
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path


def this_machine() -> str:
    """Return an id of this machine or container: a name space of process ids."""
    space = ""
    with suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return hashlib.sha256(f"{socket.gethostname()}\x00{space}".encode()).hexdigest()[:16]


def this_process() -> str:
    """Return a name of this process for `is_gone`, another one at each call."""
    return f"{this_machine()}:{os.getpid()}:{secrets.token_hex(8)}"


def is_gone(name: str) -> bool:
    """Tell whether a process of this machine has ended, or False for other machines'."""
    machine, _, process_part = name.partition(":")
    process = process_part.partition(":")[0]
    if machine != this_machine() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
