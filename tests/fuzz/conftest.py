"""The browser of `tests/browser`."""

from tests.browser.conftest import chromium, open_as, open_at

__all__ = ["chromium", "open_as", "open_at"]
