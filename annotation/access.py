"""Who may open which page: one decorator and one lookup, used by every app's views."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.errors import OtherAccount
from annotation.keys import owner_key
from annotation.memberships import groups_of
from annotation.models import Assignment, ResearchGroup, RoleGrant, Study
from annotation.models.groups import main_group
from annotation.models.people import Role
from annotation.prepared import Prepared
from annotation.services.consent import accepted
from annotation.services.holding import locked, with_annotator
from annotation.services.messages import unread_by
from annotation.signed_in import named_in, require_account, signed_in

READERS = (Role.RESEARCHER, Role.STUDY_ADMIN)
MANAGERS = (Role.STUDY_ADMIN,)
ONLY_RATES: frozenset[tuple[str, int | None]] = frozenset({(Role.ANNOTATOR.value, None)})


def account_of(request: HttpRequest) -> User:
    """Return the account that is signed in; for views behind `login_required`."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def holds_any(user: Any, *roles: str) -> bool:
    """Tell whether `user` holds one of `roles` in any study; a site admin holds all but the annotator's."""
    if user.is_superuser and set(roles) != {Role.ANNOTATOR}:
        return True
    return user.is_authenticated and not roles_of(user).isdisjoint(roles)


def roles_of(user: Any) -> frozenset[str]:
    """Return the roles that `user` holds anywhere."""
    return frozenset(role for role, _group in _held_by(user))


def holds_in_a_group(user: Any, *roles: str) -> bool:
    """Tell whether `user` holds one of `roles` in all of a group, not in single studies only; a site admin does."""
    if user.is_superuser:
        return True
    return user.is_authenticated and any(group is not None and role in roles for role, group in _held_by(user))


def _held_by(user: Any) -> frozenset[tuple[str, int | None]]:
    """Return each role of `user` with the group that it is for, asked of the database once a request."""
    # Kept on the account itself: `request.user` is a stand-in for it, which hands attributes on.
    held: frozenset[tuple[str, int | None]] | None = getattr(user, "_held_roles", None)
    if held is None:
        held = user._held_roles = frozenset(_ROLES.all(user=user.pk))
    return held


def _roles(user: int) -> "QuerySet[RoleGrant, tuple[str, int | None]]":
    return RoleGrant.objects.filter(user=user).order_by().values_list("role", "group_id")


_ROLES = Prepared(_roles)


def group_of_new_study(user: User) -> ResearchGroup:
    """Return the group that a study made by `user` belongs to: the one that they read in, a group's role first."""
    if user.is_superuser:
        return main_group()
    grants = user.role_grants.filter(role__in=READERS)
    own = ResearchGroup.objects.filter(role_grants__in=grants).order_by("pk").first()
    of_studies = ResearchGroup.objects.filter(studies__role_grants__in=grants).order_by("pk")
    group = own or of_studies.first()
    if group is None:
        raise PermissionDenied
    return group


def find_study(user: Any, slug: str, *roles: str) -> Study:
    """Return a study that `user` may see in one of `roles`; a stranger's study is a 404, as if it weren't there."""
    study = Study.objects.seen_by(user, *roles).filter(slug=slug).first()
    if study is None:
        raise Http404(f"no study {slug}")
    return study


def find_group(user: Any, slug: str, *roles: str) -> ResearchGroup:
    """Return a group in all of which `user` holds one of `roles`; a stranger's group is a 404, as if it weren't there."""
    group = groups_of(user, *roles).filter(slug=slug).first()
    if group is None:
        raise Http404(f"no group {slug}")
    return group


def _held(key: str, user: int) -> QuerySet[Assignment]:
    # A role that was taken away ends the work.
    mine = Study.objects.granted(user, Role.ANNOTATOR).order_by().values("pk")
    held = Assignment.objects.filter(annotator__user=user, annotator__study__in=mine, key=key)
    held = held.select_related("annotator__user", "hit__batch__study").order_by()
    return held.annotate(accepted=accepted("annotator_id", "annotator__study__consent_version"))


def _held_with_source(key: str, user: int) -> QuerySet[Assignment]:
    with_source = _held(key, user).select_related("hit__matchup__instance")
    reads = RoleGrant.objects.filter(user=user, role__in=READERS).order_by()
    return with_source.annotate(has_notes=Exists(unread_by(user)), reads=Exists(reads))


def _locked(key: str, user: int) -> QuerySet[Assignment]:
    return locked(_held(key, user))


_HELD, _HELD_WITH_SOURCE, _LOCKED = Prepared(_held), Prepared(_held_with_source), Prepared(_locked)


def own_assignment(request: HttpRequest, key: str, *, with_source: bool = False, lock: bool = False) -> Assignment:
    """Return the signed-in annotator's own assignment; a stranger's is a 404, as if it weren't there.

    lock : within a transaction, lock it as `hold` does, which then need not look it up once more
    Raises: SignedOut; OtherAccount when the form was made for another account: what it holds is still wanted, from its
    owner.
    """
    query = _LOCKED if lock else _HELD_WITH_SOURCE if with_source else _HELD
    named = named_in(request)
    assignment = query.first(key=key, user=named) if named is not None else None
    require_account(request, assignment.annotator.user if assignment else None)
    owner = request.POST.get("owner")
    if owner and owner != owner_key(account_of(request).pk):
        raise OtherAccount(
            _("Somebody else has signed in in this browser, so nothing was saved. Please sign in again as yourself.")
        )
    if assignment is None or assignment.annotator.user_id != account_of(request).pk:
        raise Http404(f"no assignment {key}")
    vars(assignment)["is_locked"] = lock
    if vars(assignment).get("reads") is False:  # an annotator and no more: the page needs not ask
        account_of(request)._held_roles = ONLY_RATES  # type: ignore[attr-defined]
    return with_annotator(assignment)


def for_eyes_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a page that is marked as seen when it is sent: a browser that fetches ahead, or asks for less, gets none."""

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if request.method == "HEAD" or "prefetch" in request.headers.get("Sec-Purpose", ""):
            return HttpResponse(status=204)
        return view(request, **kwargs)

    return wrapped


def form_of_hit(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate what takes a HIT's forms: whoever opens its address again, as browsers do, is led back to the HIT."""

    @require_http_methods(["GET", "HEAD", "POST"])
    @signed_in
    @wraps(view)
    def wrapped(request: HttpRequest, assignment_key: str) -> HttpResponse:
        if request.method != "POST":
            return redirect("annotation:hit", assignment_key)
        return view(request, assignment_key)

    return wrapped


def study_view(*roles: str) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Decorate a view of one study: takes the slug from the address, hands the view the `Study`."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @login_required
        @wraps(view)
        def wrapped(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
            return view(request, find_study(request.user, slug, *roles), **kwargs)

        return wrapped

    return decorate


def group_view(*roles: str) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Decorate a view of one group: takes the slug from the address, hands the view the `ResearchGroup`."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @login_required
        @wraps(view)
        def wrapped(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
            return view(request, find_group(request.user, slug, *roles), **kwargs)

        return wrapped

    return decorate


def client_ip(request: HttpRequest) -> str | None:
    """Return the address that a request came from: the nearest proxy's word on it where there is a proxy."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_PROXY else ""
    return forwarded.rsplit(",", 1)[-1].strip() or request.META.get("REMOTE_ADDR")
