"""The command `run_judge` and what it shows while it works."""

import io
import signal
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.tasks import progress
from annotation.core.tasks.stopping import StopFlag
from judging.jobs.progress import Progress
from judging.management.asking import stopping_on_signals
from judging.management.meter import Meter, duration
from judging.models import JudgeRun
from tests.fakes import Reply, StandIn
from tests.judging.builders import make_endpoint, make_judge, make_study


class Terminal(io.StringIO):
    """A stream that a person looks at; like Django's, it is told how a line ends."""

    def isatty(self) -> bool:
        return True

    def write(self, text: str, ending: str = "\n") -> int:
        return super().write(text + ending)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_asks_to_stop_and_a_second_would_end_the_process(number: signal.Signals) -> None:
    before, stop = signal.getsignal(number), StopFlag()
    with stopping_on_signals(stop):
        assert not stop.is_set()
        signal.raise_signal(number)
        assert stop.is_set()
        assert signal.getsignal(number) is signal.SIG_DFL
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.4, "4 s"), (61, "1 min 1 s"), (3599.7, "1 h 0 min"), (90_000, "25 h 0 min")]
)
def test_duration_is_written_to_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_bar_on_a_terminal_grows_and_stays_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = Terminal()
    meter = Meter(out)
    meter.pause = 0.0
    for done in (0, 50, 100):
        meter(Progress(total=100, done=done, errors=Counter({"HTTP 500": 10_000})))
    lines = out.getvalue().split("\r")[1:]
    assert "\n" not in out.getvalue()
    assert [line.count("#") for line in lines] == [0, 12, 24]
    assert {len(line) for line in lines} == {59}


def test_rate_is_of_the_last_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 10.0, 20.0, 40.0, 60.0))
    monkeypatch.setattr(progress, "monotonic", lambda: next(times))
    rate = progress.Rate()
    rate.begin(0)
    rates = [rate.at(done) for done in (100, 200, 200, 200)]
    assert rates == [10.0, 10.0, pytest.approx(100 / 30), 0.0]


@pytest.fixture
def priced(settings: Any, db: None) -> Any:
    """Make a judge at a stand-in that counts eleven tokens a question and seven an answer, at a price."""
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    make_study(instances=5)
    with StandIn() as stand_in:
        prices = {"price_prompt": Decimal(1000), "price_completion": Decimal(10_000)}
        make_judge(endpoint=make_endpoint(stand_in.base_url, **prices))
        yield stand_in


@pytest.mark.slow
def test_limit_is_kept_and_said(priced: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("run_judge", "tea", judge="judy", limit=4)
    out, err = capsys.readouterr()
    assert out.startswith(
        "asked 4 = a 4 + tie 0 + b 0 + unparsed 0 + refused 0 + errors 0; pending 6, cost 0.3240 USD;"
    )
    assert "stopped after as many cells as were asked for; 6 are open" in err
    assert priced.calls == 4


@pytest.mark.slow
def test_limit_with_nothing_but_failures_ends_in_an_error_with_the_reason(
    settings: Any, db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    make_study(instances=3)
    with StandIn([Reply(400, '{"error": {"message": "no logprobs here"}}')] * 2) as stand_in:
        make_judge(endpoint=make_endpoint(stand_in.base_url))
        with pytest.raises(CommandError, match="no question got an answer"):
            call_command("run_judge", "tea", judge="judy", limit=2)
    assert "no logprobs here" in capsys.readouterr().err


@pytest.mark.slow
def test_cap_is_kept_and_ends_with_its_own_exit_code(priced: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match=r"the cap of 0\.5000 USD is reached: 0\.4860 USD spent") as stopped:
        call_command("run_judge", "tea", "--max-cost=0.5", judge="judy", in_flight=2)
    assert stopped.value.returncode == 3
    assert priced.calls == 6
    assert JudgeRun.objects.get().status == "paused"
    call_command("run_judge", "tea", "--max-cost=10", judge="judy")
    assert (priced.calls, JudgeRun.objects.get().status) == (10, "done")
