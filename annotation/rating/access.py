"""Access to a HIT: for its own annotator only."""

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.allocation.lease import LockedHit, attach_annotator, lock_with_annotator, with_consent
from annotation.core.database.prepared import Prepared
from annotation.core.errors import OtherAccount
from annotation.core.keys import owner_key
from annotation.models import Assignment, Study
from annotation.models.members import Role


def _own(key: str, user: int) -> QuerySet[Assignment]:
    # Without the role, the annotator loses their HITs.
    mine = Study.objects.granted(user, Role.ANNOTATOR).order_by().values("pk")
    return with_consent(Assignment.objects.filter(annotator__user=user, annotator__study__in=mine, key=key))


def _locked(key: str, user: int) -> QuerySet[Assignment]:
    return lock_with_annotator(_own(key, user))


_OWN, _LOCKED = Prepared(_own), Prepared(_locked)


def own_assignment(request: HttpRequest, key: str) -> Assignment:
    """Return the signed-in annotator's own assignment, or raise 404 for another's.

    Raises: OtherAccount when the form was rendered for another account, whose vote it holds.
    """
    return _find(_OWN, request, key)


def own_locked_hit(request: HttpRequest, key: str) -> LockedHit:
    """Lock the signed-in annotator's own assignment within a transaction. Raises as `own_assignment`."""
    return LockedHit(_find(_LOCKED, request, key))


def _find(query: Prepared[Assignment], request: HttpRequest, key: str) -> Assignment:
    user = request.user.pk
    owner = request.POST.get("owner")
    if owner and owner != owner_key(user):
        raise OtherAccount(
            _("Another person has signed in in this browser, so nothing was saved. Please sign in again as yourself.")
        )
    assignment = query.first(key=key, user=user)
    if assignment is None:
        raise Http404(f"no assignment {key}")
    return attach_annotator(assignment)


def hit_form_view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view that takes a form of a HIT. GET, as when a browser reopens its address, redirects to the HIT."""

    @require_http_methods(["GET", "HEAD", "POST"])
    @login_required
    @wraps(view)
    def wrapped(request: HttpRequest, assignment_key: str) -> HttpResponse:
        if request.method != "POST":
            return redirect("annotation:hit", assignment_key)
        return view(request, assignment_key)

    return wrapped
