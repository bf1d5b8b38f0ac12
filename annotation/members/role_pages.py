"""Actions shared by the pages of groups and of a study's members."""

from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotation.core.errors import AnnotationError
from annotation.members.accounts import login_link
from annotation.members.forms import MemberForm
from annotation.members.groups import add_member, new_member_link, revoke_role
from annotation.members.memberships import grants_in, may_give_roles
from annotation.members.permissions import account_of
from annotation.models import ResearchGroup, RoleGrant, Study

ANNOTATORS_A_PAGE = 100


@dataclass(frozen=True)
class NewLink:
    """An account with its sign-in link, which is shown once and not stored; `url` is empty without a link."""

    username: str
    url: str


def add(
    request: HttpRequest, form: MemberForm, *, study: Study | None = None, group: ResearchGroup | None = None
) -> NewLink | None:
    """Grant the role of a form; None if that fails, with an error on the form."""
    if not form.is_valid():
        return None
    try:
        member = add_member(**form.arguments, study=study, group=group, by=account_of(request))
    except AnnotationError as error:
        form.add_error("username", str(error))
        return None
    names = {"name": member.user.get_username(), "role": _role(form.cleaned_data["role"])}
    message = (
        _("%(name)s has the role %(role)s now.") if member.changed else _("%(name)s had the role %(role)s already.")
    )
    messages.success(request, message % names)
    url = login_link(user=member.user, base_url=request.build_absolute_uri("/")) if member.is_new else ""
    return NewLink(member.user.get_username(), url)


def revoke(request: HttpRequest, *, study: Study | None = None, group: ResearchGroup | None = None) -> bool:
    """Revoke the role of a form; tell whether the user may still open the page."""
    user, grant = account_of(request), _grant(request, study, group)
    revoke_role(user=grant.user, role=grant.role, study=study, group=group, by=user)
    names = {"name": grant.user.get_username(), "role": _role(grant.role)}
    messages.success(request, _("%(name)s no longer has the role %(role)s here.") % names)
    return may_give_roles(user, study=study, group=group)


def new_link(request: HttpRequest, *, study: Study | None = None, group: ResearchGroup | None = None) -> NewLink:
    """Return a new sign-in link for the account of the form's grant."""
    member = _grant(request, study, group).user
    url = new_member_link(
        user=member, base_url=request.build_absolute_uri("/"), study=study, group=group, by=account_of(request)
    )
    return NewLink(member.get_username(), url)


def annotators_page(request: HttpRequest, grants: QuerySet[RoleGrant]) -> "Page[RoleGrant]":
    """Return the requested page of annotators."""
    return Paginator(grants, ANNOTATORS_A_PAGE).get_page(request.GET.get("page"))


def _grant(request: HttpRequest, study: Study | None, group: ResearchGroup | None) -> RoleGrant:
    """Return the form's grant, if it is of this study or group."""
    given = request.POST.get("grant", "")
    is_number = given.isdecimal() and len(given) < 20  # int() refuses thousands of digits
    return get_object_or_404(grants_in(study=study, group=group), pk=int(given) if is_number else 0)


def _role(role: str) -> str:
    return str(dict(RoleGrant._meta.get_field("role").flatchoices)[role])
