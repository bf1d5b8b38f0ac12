"""Two worker hosts share one judge's run on one PostgreSQL; one loses its power, then the other's worker is killed.

At the end every verdict is there once, and a call was made twice only where its answer had not reached the database.
"""

import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.hosts.network import ADDRESS, Forwarder, Host, NetworkImpossible, bridge
from tests.standin.process import running
from tests.stress.run import DatabaseProcess
from tools.with_postgres import find_programs, server

HITS, PAIRS, IN_FLIGHT = 120, 5, 160
CELLS = 2 * HITS * PAIRS  # each pair in both orders
DELAY = 5.0  # seconds that an answer takes
LONGEST_WAIT = 300.0


def wait_until(database: DatabaseProcess, what: str, parsed: int, hosts: int) -> None:
    """Wait for so many more verdicts, and until so many hosts are at work."""
    begun = time.monotonic()
    wanted = database.ask("at_work")["parsed"] + parsed
    while (found := database.ask("at_work"))["parsed"] < wanted or found["hosts"] < hosts:
        if time.monotonic() - begun > LONGEST_WAIT:
            raise TimeoutError(f"{what}: {found}, not {wanted} verdicts and {hosts} hosts")
        time.sleep(0.2)
    print(f"{time.monotonic() - begun:4.0f} s  {what}: {found}", flush=True)


def lose_both_in_turn(database: DatabaseProcess, one: Host, other: Host) -> None:
    """Let the hosts work, and lose each while the other goes on."""
    wait_until(database, "both at work", 60, 2)
    one.unplug()
    one.kill()
    wait_until(database, "the first without power", 200, 1)
    one.plug_in()
    one.start()
    wait_until(database, "the first is back", 30, 2)
    other.kill()
    wait_until(database, "the second killed", 200, 1)
    other.start()
    begun = time.monotonic()
    while any((left := database.ask("open_work")).values()):
        if time.monotonic() - begun > LONGEST_WAIT:
            raise TimeoutError(f"the run does not end: {left}, {database.ask('totals')}")
        time.sleep(0.5)


def main() -> int:
    """Do it; return the exit code."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tandem-hosts-")))
        try:
            stack.enter_context(bridge())
        except NetworkImpossible as impossible:
            print(f"no networks can be made here (as root, on Linux): {impossible}")
            return 1
        folder.chmod(0o711)  # PostgreSQL's account reads a file there
        access = folder / "access"
        access.write_text("local all all scram-sha-256\nhost all all all scram-sha-256\n", encoding="ascii")
        access.chmod(0o644)
        settings = ("max_connections=100", f"listen_addresses=127.0.0.1,{ADDRESS}", f"hba_file={access}")
        url = stack.enter_context(server(find_programs(), settings=settings))
        standin = stack.enter_context(running(delay=DELAY, keep=0))
        forwarder = Forwarder()
        environment = {**os.environ, "ENDPOINT_ALLOWLIST": ADDRESS, "LOG_LEVEL": "WARNING"}
        database = DatabaseProcess(
            environment | {"DATABASE_URL": url, "TANDEM_DATA_DIR": str(folder)}, "tests.hosts.database"
        )
        stack.callback(database.close)
        database.ask("fill", raters=1, hits=HITS, pairs=PAIRS, raters_per_hit=1, address="http://localhost")
        database.ask(
            "hire", address="http://localhost", standin=forwarder.forward(standin.base_url), in_flight=IN_FLIGHT
        )
        environment["DATABASE_URL"] = url.replace("127.0.0.1", ADDRESS)
        hosts = [Host(number, environment, folder) for number in range(2)]
        for host in hosts:
            stack.callback(host.close)
            host.start()
        try:
            lose_both_in_turn(database, *hosts)
        except BaseException:
            for log in folder.glob("*.log"):
                print(log.name, log.read_text(errors="replace")[-4000:])
            raise
        return judge(database.ask("totals"), standin.stats())


def judge(found: dict[str, int | str], asked: dict[str, int]) -> int:
    """Print what there is, and what must not be so."""
    print(
        f"stored: {found}; the endpoint answered {asked['distinct']} questions, {asked['repeated']} calls were repeated"
    )
    wrong = []
    if found["status"] != "done" or not found["cells"] == found["parsed"] == CELLS:
        wrong.append(f"{CELLS} verdicts were wanted")
    if found["completions"] != asked["distinct"]:
        wrong.append("completions were lost, or stored twice")
    if asked["repeated"] > 2 * IN_FLIGHT:  # a lost host that is alone has all of them in flight
        wrong.append(f"more calls were repeated than were in flight on the lost hosts, {2 * IN_FLIGHT}")
    print(
        "\n".join(["VIOLATIONS:", *wrong]) if wrong else "nothing is lost, and nothing that was stored was asked again"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
