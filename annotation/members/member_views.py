"""Pages of research groups and of a study's members: granting and revoking roles, sign-in links, moving a study."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from annotation.core.errors import AnnotationError
from annotation.mail.outbox import language_of, write_mail
from annotation.members.accounts import login_link
from annotation.members.forms import GroupForm, GroupNameForm, MemberForm, MoveStudyForm, NewMember
from annotation.members.groups import add_member, create_group, move_study, new_member_link, rename_group, revoke_role
from annotation.members.memberships import Place, annotators, grants_in, groups_of, may_give_roles, readers, with_counts
from annotation.members.permissions import (
    FORM,
    MANAGERS,
    POST,
    READERS,
    account_of,
    account_view,
    group_view,
    has_any_role,
    study_view,
)
from annotation.models import Annotator, Mail, ResearchGroup, RoleGrant, Study

ANNOTATORS_A_PAGE = 100


@account_view(FORM)
def groups_page(request: HttpRequest) -> HttpResponse:
    """List the groups that the user has a reading role in. A site admin sees all and creates new ones."""
    user = account_of(request)
    if not has_any_role(user, *READERS):
        raise PermissionDenied
    if request.method == "POST" and not user.is_superuser:
        raise PermissionDenied
    form = GroupForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            group = create_group(**form.cleaned_data, by=user)
        except AnnotationError as error:
            form.add_error("slug", str(error))
        else:
            messages.success(request, f"Group {group.name} was created. Now grant a role in it.")
            return _redirect_to(group)
    context = {"groups": with_counts(groups_of(user, *READERS)), "form": form}
    return render(request, "annotation/members/groups.html", context, status=422 if form.is_bound else 200)


@never_cache
@group_view(*READERS, methods=FORM)
def group_page(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Show a group's members. Its study admins grant roles."""
    if request.method == "POST" and not may_give_roles(account_of(request), group):
        raise PermissionDenied
    return _members(request, group)


@never_cache
@study_view(*MANAGERS, methods=FORM)
def members(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the members of a study and its group, and grant roles in the study."""
    return _members(request, study)


def _members(request: HttpRequest, scope: Place) -> HttpResponse:
    """Show the page. A POST grants the role of the form."""
    if request.method != "POST":
        return _page(request, scope, MemberForm())
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _page(request, scope, form, status=422)
    cleaned = form.cleaned_data
    try:
        user, changed = add_member(
            **{name: cleaned[name] for name in NewMember.base_fields}, place=scope, by=account_of(request)
        )
    except AnnotationError as error:
        form.add_error("username", str(error))
        return _page(request, scope, form, status=422)
    name, role = user.get_username(), _role(cleaned["role"])
    message = f"{name} has the role {role} now." if changed else f"{name} had the role {role} already."
    messages.success(request, message)
    if not cleaned["new"]:
        return _redirect_to(scope)
    if address := cleaned.get("address"):
        language = language_of(scope) if isinstance(scope, Study) else None
        write_mail(kind=Mail.Kind.SIGN_IN, address=address, user=user, at=timezone.now(), language=language)
        messages.success(request, "The sign-in link is being sent.")
    url = login_link(user=user, base_url=request.build_absolute_uri("/"))
    return _page(request, scope, MemberForm(), link={"username": name, "url": url})


def _revoke(request: HttpRequest, scope: Place) -> HttpResponse:
    """Revoke the role of a form, and redirect to a page that the user may still open."""
    user, grant = account_of(request), _grant(request, scope)
    revoke_role(user=grant.user, role=grant.role, place=scope, by=user)
    messages.success(request, f"{grant.user.get_username()} no longer has the role {_role(grant.role)} here.")
    return _redirect_to(scope) if may_give_roles(user, scope) else redirect("annotation:home")


revoke_in_group = group_view(*MANAGERS, methods=POST)(_revoke)
revoke_in_study = study_view(*MANAGERS, methods=POST)(_revoke)


def _show_link(request: HttpRequest, scope: Place) -> HttpResponse:
    """Show a new sign-in link for a member who has never signed in."""
    member = _grant(request, scope).user
    url = new_member_link(user=member, base_url=request.build_absolute_uri("/"), place=scope, by=account_of(request))
    return _page(request, scope, MemberForm(), link={"username": member.get_username(), "url": url})


link_in_group = never_cache(group_view(*MANAGERS, methods=POST)(_show_link))
link_in_study = never_cache(study_view(*MANAGERS, methods=POST)(_show_link))


@group_view(*MANAGERS, methods=POST)
def rename(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Rename a group, for site admins."""
    user = account_of(request)
    if not user.is_superuser:
        raise PermissionDenied
    form = GroupNameForm(request.POST)
    if not form.is_valid():
        return _page(request, group, MemberForm(), name_form=form, status=422)
    rename_group(group=group, name=form.cleaned_data["name"], by=user)
    messages.success(request, "Saved.")
    return _redirect_to(group)


@study_view(*MANAGERS, methods=POST)
def move(request: HttpRequest, study: Study) -> HttpResponse:
    """Move a study to another group, for site admins."""
    user = account_of(request)
    if not user.is_superuser:
        raise PermissionDenied
    form = MoveStudyForm(request.POST, study=study)
    if not form.is_valid():
        return _page(request, study, MemberForm(), move_form=form, status=422)
    group = form.cleaned_data["group"]
    ended = move_study(study=study, group=group, by=user)
    message = f"{study.slug} belongs to {group.name} now; roles in the study itself that ended: {ended}."
    messages.success(request, message)
    return _redirect_to(study)


def _page(
    request: HttpRequest,
    scope: Place,
    form: MemberForm,
    *,
    link: dict[str, str] | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    """Render a group's or a study's page. `more` are invalid forms to be shown again.

    link : user name and sign-in link of an account; it is shown once and not stored
    """
    user, own = account_of(request), grants_in(scope)
    context: dict[str, Any] = {"readers": readers(own), "form": form, "made": link}
    if isinstance(scope, ResearchGroup):
        template, may_manage = "annotation/members/group.html", may_give_roles(user, scope)
        context |= {
            "group": scope,
            "studies": scope.studies.order_by("slug"),
            "may_manage": may_manage,
            "annotators": _annotators_page(request, annotators(own)) if may_manage else None,
            "name_form": GroupNameForm(initial={"name": scope.name}),
        }
    else:
        template, of_group = "annotation/members/members.html", grants_in(scope.group)
        through_channels = scope.annotators.filter(user__isnull=False).exclude(kind=Annotator.Kind.ACCOUNT)
        may_move = user.is_superuser and ResearchGroup.objects.exclude(pk=scope.group_id).exists()
        context |= {
            "study": scope,
            "group": scope.group,
            "annotators": _annotators_page(request, annotators(own, study=scope)),
            "group_readers": readers(of_group),
            "group_annotators": annotators(of_group).count(),
            "channel_raters": through_channels.count(),
            "move_form": MoveStudyForm(study=scope) if may_move else None,
        }
    return render(request, template, {**context, **more}, status=status)


def _annotators_page(request: HttpRequest, grants: QuerySet[RoleGrant]) -> "Page[RoleGrant]":
    return Paginator(grants, ANNOTATORS_A_PAGE).get_page(request.GET.get("page"))


def _grant(request: HttpRequest, scope: Place) -> RoleGrant:
    """Return the form's grant, if it is of this study or group."""
    grant_id = request.POST.get("grant", "")
    is_number = grant_id.isdecimal() and len(grant_id) < 20  # int() refuses thousands of digits
    return get_object_or_404(grants_in(scope), pk=int(grant_id) if is_number else 0)


def _role(role: str) -> str:
    return str(dict(RoleGrant._meta.get_field("role").flatchoices)[role])


def _redirect_to(scope: Place) -> HttpResponse:
    return redirect("annotation:group" if isinstance(scope, ResearchGroup) else "annotation:members", scope.slug)
