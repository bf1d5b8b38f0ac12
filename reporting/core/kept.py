"""A process's cache of a study's numbers, valid for one version of its data."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """The latest few of what was made, each as long as its version holds."""

    def __init__(self, size: int) -> None:
        self.most = size
        self._kept: OrderedDict[Hashable, tuple[Hashable, Made]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, version: Hashable, make: Callable[[], Made]) -> Made:
        """Return, or compute once, the value of a key in this version. Concurrent callers wait."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None or entry[0] != version:
                entry = self._kept[key] = version, make()
            self._kept.move_to_end(key)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        return entry[1]

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
