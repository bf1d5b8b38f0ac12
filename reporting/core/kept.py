"""What a process keeps of a study's numbers between requests, while what they are made from stays the same."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """The latest few of what was made, each as long as its version holds."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[Hashable, tuple[Hashable, Made]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, version: Hashable, make: Callable[[], Made]) -> Made:
        """Return what is kept under a key in this version, or make it; those who come together wait for one."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or found[0] != version:
                found = self._kept[key] = version, make()
            self._kept.move_to_end(key)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        return found[1]

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
