"""Addresses whose views are loaded when the first person or program asks for one of them.

Raters never ask for most of them: without the researchers' pages, the API and the admin, and the libraries behind these,
a web process starts in half the time and takes a quarter less memory.
"""

from importlib import import_module
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLResolver
from django.urls.resolvers import RoutePattern
from django.utils.datastructures import MultiValueDict
from django.utils.translation import get_language


class LazyView:
    """A function of a module that may not be loaded yet, with whatever its decorators mark it with."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__ = module
        self.__name__ = self.__qualname__ = name

    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = self._loaded()(request, *args, **kwargs)
        return response

    def __getattr__(self, mark: str) -> Any:
        if mark == "view_class":  # asked of every view when the first address is written: these are functions
            raise AttributeError(mark)
        return getattr(self._loaded(), mark)

    def _loaded(self) -> Any:
        return getattr(import_module(self.__module__), self.__name__)


class LazyViews:
    """The views of a module that may not be loaded yet, under their own names."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __getattr__(self, name: str) -> LazyView:
        return LazyView(self.module, name)


def lazy_include(prefix: str, urlconf: str, namespace: str) -> URLResolver:
    """Include addresses as `include` does, under a namespace, without loading them."""
    return _LazyResolver(RoutePattern(prefix), urlconf, app_name=namespace, namespace=namespace)


class _LazyResolver(URLResolver):
    """Reads its addresses when one of its own is to be written, and not already when one of any namespace is.

    The resolver around it calls `_populate` of whatever it holds as soon as it writes its first address, although all
    that it takes of one with a namespace is that namespace.
    """

    def _populate(self) -> None:
        """Leave the addresses for later."""

    def _read(self) -> None:
        if get_language() not in self._reverse_dict:
            super()._populate()

    @property
    def reverse_dict(self) -> MultiValueDict:
        """What the names of the addresses stand for."""
        self._read()
        return super().reverse_dict

    @property
    def namespace_dict(self) -> dict[str, Any]:
        """The namespaces inside."""
        self._read()
        return super().namespace_dict

    @property
    def app_dict(self) -> dict[str, Any]:
        """The applications inside."""
        self._read()
        return super().app_dict
