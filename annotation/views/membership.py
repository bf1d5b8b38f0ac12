"""What the pages of groups and of a study's members have in common."""

from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotation.access import account_of
from annotation.errors import AnnotationError
from annotation.member_forms import MemberForm
from annotation.memberships import grants_in, may_give_roles
from annotation.models import ResearchGroup, RoleGrant, Study
from annotation.services.accounts import login_link
from annotation.services.groups import add_member, link_for_newcomer, revoke_role

ANNOTATORS_A_PAGE = 100


@dataclass(frozen=True)
class NewLink:
    """An account and the link that signs its owner in, which is shown once and kept nowhere; or no link."""

    username: str
    url: str


def add(
    request: HttpRequest, form: MemberForm, *, study: Study | None = None, group: ResearchGroup | None = None
) -> NewLink | None:
    """Give the role that a form asks for; None when it can't be given, which the form then says."""
    if not form.is_valid():
        return None
    try:
        member = add_member(**form.asked, study=study, group=group, by=account_of(request))
    except AnnotationError as error:
        form.add_error("username", str(error))
        return None
    names = {"name": member.user.get_username(), "role": _role(form.cleaned_data["role"])}
    told = _("%(name)s has the role %(role)s now.") if member.changed else _("%(name)s had the role %(role)s already.")
    messages.success(request, told % names)
    url = login_link(user=member.user, base_url=request.build_absolute_uri("/")) if member.is_new else ""
    return NewLink(member.user.get_username(), url)


def revoke(request: HttpRequest, *, study: Study | None = None, group: ResearchGroup | None = None) -> bool:
    """Take the role that a form names; tell whether whoever took it may still open the page that they took it on."""
    user, grant = account_of(request), _grant(request, study, group)
    revoke_role(user=grant.user, role=grant.role, study=study, group=group, by=user)
    names = {"name": grant.user.get_username(), "role": _role(grant.role)}
    messages.success(request, _("%(name)s no longer has the role %(role)s here.") % names)
    return may_give_roles(user, study=study, group=group)


def new_link(request: HttpRequest, *, study: Study | None = None, group: ResearchGroup | None = None) -> NewLink:
    """Make a link for the account of the grant that a form names."""
    member = _grant(request, study, group).user
    url = link_for_newcomer(
        user=member, base_url=request.build_absolute_uri("/"), study=study, group=group, by=account_of(request)
    )
    return NewLink(member.get_username(), url)


def pages_of(request: HttpRequest, grants: QuerySet[RoleGrant]) -> Page:
    """Return the page of annotators that is asked for."""
    return Paginator(grants, ANNOTATORS_A_PAGE).get_page(request.GET.get("page"))


def _grant(request: HttpRequest, study: Study | None, group: ResearchGroup | None) -> RoleGrant:
    """Find the grant that a form names, among those of this study or group."""
    asked = request.POST.get("grant", "")
    is_number = asked.isdecimal() and len(asked) < 20  # Python reads no number of thousands of digits
    return get_object_or_404(grants_in(study=study, group=group), pk=int(asked) if is_number else 0)


def _role(role: str) -> str:
    return str(dict(RoleGrant._meta.get_field("role").flatchoices)[role])
