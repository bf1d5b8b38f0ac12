"""Permissions of views: decorators and lookups by role."""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.members.memberships import groups_of
from annotation.models import ResearchGroup, RoleGrant, Study
from annotation.models.members import Role, main_group

READERS = (Role.RESEARCHER, Role.STUDY_ADMIN)
MANAGERS = (Role.STUDY_ADMIN,)
SAFE, POST, FORM = ("GET", "HEAD"), ("POST",), ("GET", "HEAD", "POST")  # methods that a view answers
View = Callable[..., HttpResponse]


def account_of(request: HttpRequest) -> User:
    """Return the signed-in account, in views behind `login_required`."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def has_any_role(user: Any, *roles: str) -> bool:
    """Tell whether `user` has one of `roles` in any study. A site admin has all but the annotator's."""
    if user.is_superuser and set(roles) != {Role.ANNOTATOR}:
        return True
    return user.is_authenticated and any(role in roles for role, _group in _grants_of(user))


def has_group_role(user: Any, *roles: str) -> bool:
    """Tell whether `user` has one of `roles` in a group, not only in single studies. A site admin has."""
    if user.is_superuser:
        return True
    return user.is_authenticated and any(group is not None and role in roles for role, group in _grants_of(user))


def _grants_of(user: Any) -> frozenset[tuple[str, int | None]]:
    """Return each role of `user` with its group (None for a study's), by one query per request."""
    # Cached on the account; `request.user` is a lazy proxy that passes attributes on.
    grants: frozenset[tuple[str, int | None]] | None = getattr(user, "_held_roles", None)
    if grants is None:
        grants = user._held_roles = frozenset(RoleGrant.objects.filter(user=user).values_list("role", "group_id"))  # noqa: SLF001  # ours, see above
    return grants


def find_study(user: Any, slug: str, *roles: str) -> Study:
    """Return a study that `user` may see in one of `roles`, or raise Http404."""
    study = Study.objects.visible_to(user, *roles).filter(slug=slug).first()
    if study is None:
        raise Http404(f"no study {slug}")
    study.refuse_reading()
    return study


def may_manage(user: Any, study: Study) -> bool:
    """Tell whether `user` is a study admin of a study."""
    return Study.objects.visible_to(user, *MANAGERS).filter(pk=study.pk).exists()


def find_group(user: Any, slug: str, *roles: str) -> ResearchGroup:
    """Return a group in which `user` has one of `roles`, or raise Http404."""
    group = groups_of(user, *roles).filter(slug=slug).first()
    if group is None:
        raise Http404(f"no group {slug}")
    return group


def account_view(methods: Sequence[str] = SAFE) -> Callable[[View], View]:
    """Decorate a page of the account that is signed in, which no cache keeps."""
    return lambda view: never_cache(login_required(require_http_methods(methods)(view)))


def reader_view(methods: Sequence[str] = SAFE) -> Callable[[View], View]:
    """Decorate a page for the researchers and study admins of any study."""

    def decorate(view: View) -> View:
        @login_required
        @require_http_methods(methods)
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not has_any_role(request.user, *READERS):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return wrapped

    return decorate


def study_view(*roles: str, methods: Sequence[str] = SAFE) -> Callable[[View], View]:
    """Decorate a view of one study: replaces the URL's slug by the `Study`, if the user has one of `roles`."""
    return partial(_view_of, find_study, roles, methods)


def group_view(*roles: str, methods: Sequence[str] = SAFE) -> Callable[[View], View]:
    """Decorate a view of one group: replaces the URL's slug by the `ResearchGroup`, if the user has one of `roles`."""
    return partial(_view_of, find_group, roles, methods)


def _view_of(find: Callable[..., Any], roles: Sequence[str], methods: Sequence[str], view: View) -> View:
    answer = require_http_methods(methods)(view)

    @login_required
    @wraps(view)
    def wrapped(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
        try:
            subject = find(request.user, slug, *roles)
        except Http404:
            renamed = Study.objects.visible_to(request.user, *roles).once_named(slug) if find is find_study else None
            if renamed is None or request.method not in SAFE:
                raise
            return redirect(request.get_full_path().replace(f"/studies/{slug}/", f"/studies/{renamed.slug}/", 1))
        return answer(request, subject, **kwargs)

    return wrapped


def is_site_admin(user: Any) -> bool:
    """Tell whether a user is a site admin, who came with no token that is limited to some studies."""
    return bool(user.is_superuser) and getattr(user, "limited_to", None) is None


def groups_of_new_study(user: User) -> list[ResearchGroup]:
    """Return the groups in which `user` may create a study, the default first.

    Raises: PermissionDenied if there is none, or for a token that is limited to some studies.
    """
    if getattr(user, "limited_to", None) is not None:
        raise PermissionDenied("this token is limited to some studies, and can't make another")
    if user.is_superuser:
        first, groups = main_group(), ResearchGroup.objects.all()
    else:
        grants = user.role_grants.filter(role__in=READERS)
        groups = ResearchGroup.objects.filter(role_grants__in=grants).distinct()  # roles in single studies don't count
        of_studies = ResearchGroup.objects.filter(studies__role_grants__in=grants).order_by("pk")
        default = groups.order_by("pk").first() or of_studies.first()
        if default is None:
            raise PermissionDenied
        first = default
    return [first, *(group for group in groups.order_by("slug") if group.pk != first.pk)]


def groups_of_copy(user: User, study: Study) -> list[ResearchGroup]:
    """Return the groups in which `user` may create a copy of a study, its own first."""
    return sorted(groups_of_new_study(user), key=lambda group: group.pk != study.group_id)
