"""Say in one line why a port cannot be served on; silent when it can.

usage: check_port.py PORT [HOST]

Runs as a file before anything is installed, so it needs nothing but Python.
"""

import errno
import socket
import sys

THIS_MACHINE = "127.0.0.1"


class PortRefused(Exception):
    """This port cannot be served on; the message says why and what to do."""


def parse_port(text: str) -> int:
    """Return the port number that `text` stands for."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65535):
        raise PortRefused(f"PORT must be a number from 1 to 65535, not {text!r}.")
    return int(text)


def listen(port: int, host: str = THIS_MACHINE) -> socket.socket:
    """Return a socket that listens on the port: on this machine only, or on another address of it."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A server that has just stopped must not block its port; one that still runs does.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        if host == THIS_MACHINE and answers_on_ipv6(port):
            raise OSError(errno.EADDRINUSE, "taken")
        listener.listen(256)
    except OSError as error:
        listener.close()
        raise PortRefused(reason(port, error)) from None
    return listener


def answers_on_ipv6(port: int) -> bool:
    """Tell whether a browser that is sent to `localhost` would meet another server, on ::1."""
    if not socket.has_ipv6:
        return False
    try:
        with socket.create_connection(("::1", port), timeout=1):
            return True
    except OSError:
        return False


def reason(port: int, error: OSError) -> str:
    """Return the line that tells a person what is wrong with the port."""
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else 8000
        return f"Port {port} is taken. Stop what uses it, or choose another: PORT={other}"
    if error.errno == errno.EACCES:
        return f"Port {port} is not allowed for this user. Choose one above 1023: PORT=8000"
    return f"Port {port} cannot be served on: {error}."


def main(arguments: list[str]) -> int:
    """Check the port (and the host) on the command line; return the exit code."""
    if not 1 <= len(arguments) <= 2:
        print("usage: check_port.py PORT [HOST]", file=sys.stderr)
        return 2
    try:
        listen(parse_port(arguments[0]), *arguments[1:]).close()
    except PortRefused as refused:
        print(refused, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
