"""Cells under way, all at once: each goes on as far as there are answers, and what is missing becomes a request."""

from collections.abc import Iterable, Sequence

from judging.judges import AskingMethod, Reply, Setting
from judging.models import Completion, Judgment
from judging.services.cases import Ask, Case, Cell, Stored
from judging.services.reading import Reading
from judging.services.requests import Request, Requests
from judging.services.statements import parts
from judging.services.store import Group, Result

CACHED = ("pk", "cache_key", "text", "finish_reason", "response")


class Board:
    """The cases of one process. What changes is noted in `group`, to be written.

    under_way : cases that were begun and have not ended
    """

    def __init__(self, method: AskingMethod, setting: Setting, requests: Requests) -> None:
        self.method = method
        self.setting = setting
        self.requests = requests
        self.group = Group()
        self.under_way = 0
        self._asking: dict[str, tuple[Request, list[tuple[Case, Ask]]]] = {}
        self._fresh: dict[str, Stored] = {}

    def know(self, answers: Iterable[Stored]) -> None:
        """Make answers known that can't be looked up."""
        self._fresh.update((stored.key, stored) for stored in answers)

    def begin(self, cells: Iterable[Cell]) -> list[Case]:
        """Start the procedures of cells."""
        cases = [Case(cell, self.method, self.setting) for cell in cells]
        self.under_way += len(cases)
        return cases

    def answer(self, stored: Stored) -> list[Case]:
        """Hand an answer to the cells that wait for it; the first of them pays. Returns those that may go on."""
        stored.request, waiting = self._asking.pop(stored.key, (stored.request, []))
        self._fresh[stored.key] = stored
        self.group.answers.append(stored)
        for number, (case, ask) in enumerate(waiting):
            if number == 0:
                self.group.links.append((case.cell.pk, stored))
                self.group.bills[case.cell.pk] = case.spent
            case.take(ask, stored, paid=number == 0)
        return [case for case, _ in waiting]

    def fail(self, key: str, reason: str, *, rejected: bool = False) -> list[Case]:
        """End the cells that wait for an answer that won't come; those that can do without a rejected call go on."""
        _, waiting = self._asking.pop(key, (None, []))
        for case, ask in waiting:
            ask.waiting = False
            if rejected and ask.call.optional:
                case.do_without(ask)
            elif not case.ended:
                case.end(Reading(Judgment.Status.ERROR, failure=reason))
        return [case for case, _ in waiting]

    def proceed(self, cases: Iterable[Case]) -> list[Request]:
        """Take cases as far as the cache goes, and return what has to be asked now; nothing is returned twice."""
        wanted: list[Request] = []
        going = list({id(case): case for case in cases}.values())
        while going:
            for case in going:
                self._conclude(case)
            asked = [(case, ask, self._request(case, ask)) for case in going for ask in case.open_asks()]
            found = self.look_up([request.key for _, _, request in asked if request.key not in self._asking])
            moved: dict[int, Case] = {}
            for case, ask, request in asked:
                if (stored := found.get(request.key)) is not None:
                    case.take(ask, stored, paid=False)
                    moved[id(case)] = case
                elif self._wait(case, ask, request):
                    wanted.append(request)
            going = list(moved.values())
        return wanted

    def look_up(self, keys: Sequence[str]) -> dict[str, Stored]:
        """Return the answers that are there, by their names in the cache."""
        found = {key: self._fresh[key] for key in keys if key in self._fresh}
        found = {key: stored for key, stored in found.items() if not stored.refused}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        for part in parts(missing):
            rows = Completion.objects.filter(cache_key__in=part).order_by()
            for pk, key, text, finish_reason, response in rows.values_list(*CACHED):
                found[key] = Stored(key, Reply(text, finish_reason, response), pk)
        return found

    def take_group(self) -> Group:
        """Hand over what is to be written, and begin a new group; call it once the last one was written."""
        group, self.group = self.group, Group()
        for result in group.results:
            group.bills.pop(result.pk, None)
        self._fresh = {}
        return group

    def forget(self) -> None:
        """Drop the cells that wait for answers: somebody else will begin them anew. The answers are still taken in."""
        self._asking.clear()
        self.under_way = 0

    def _request(self, case: Case, ask: Ask) -> Request:
        return self.requests.request(ask.call, repeat=case.cell.repeat, attempt=ask.attempt)

    def _wait(self, case: Case, ask: Ask, request: Request) -> bool:
        """Let a case wait for an answer; tell whether it is the first one that does."""
        ask.waiting = True
        is_new = request.key not in self._asking
        _, waiting = self._asking.setdefault(request.key, (request, []))
        waiting.append((case, ask))
        return is_new

    def _conclude(self, case: Case) -> None:
        """Note what came of a case that has ended, once."""
        if case.reading is None or case.concluded:
            return
        case.concluded = True
        self.under_way -= 1
        # Without an answer the cell will be asked again: it keeps hold of what it paid for, and of nothing else.
        used = () if case.reading.status == Judgment.Status.ERROR else tuple(case.used)
        result = Result(case.cell.pk, case.cell.order, case.reading, len(case.used), case.cached, case.spent, used)
        self.group.results.append(result)
