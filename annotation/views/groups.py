"""The pages of research groups: which there are, and who belongs to one."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import MANAGERS, READERS, account_of, group_view, holds_any
from annotation.errors import AnnotationError
from annotation.member_forms import GroupForm, GroupNameForm, MemberForm
from annotation.memberships import annotators, grants_in, groups_of, may_give_roles, readers, with_counts
from annotation.models import ResearchGroup
from annotation.services.groups import create_group, rename_group
from annotation.views.membership import NewLink, add, new_link, pages_of, revoke


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def groups_page(request: HttpRequest) -> HttpResponse:
    """List the groups that the user reads all of; a site admin sees all, and makes new ones."""
    user = account_of(request)
    if not holds_any(user, *READERS):
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
            messages.success(request, _("Group %(name)s is made. Give somebody a role in it.") % {"name": group.name})
            return redirect("annotation:group", group.slug)
    context = {"groups": with_counts(groups_of(user, *READERS)), "form": form}
    return render(request, "annotation/groups.html", context, status=422 if form.is_bound else 200)


@never_cache
@group_view(*READERS)
@require_http_methods(["GET", "HEAD", "POST"])
def group_page(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Show who reads all of a group; its study admins give roles and take them."""
    may_manage = may_give_roles(account_of(request), group=group)
    if request.method != "POST":
        return _page(request, group, MemberForm())
    if not may_manage:
        raise PermissionDenied
    form = MemberForm(request.POST)
    added = add(request, form, group=group)
    if added is None:
        return _page(request, group, form, status=422)
    return _page(request, group, MemberForm(), made=added) if added.url else redirect("annotation:group", group.slug)


@group_view(*MANAGERS)
@require_POST
def revoke_in_group(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Take a role in a group."""
    still_there = revoke(request, group=group)
    return redirect("annotation:group", group.slug) if still_there else redirect("annotation:home")


@never_cache
@group_view(*MANAGERS)
@require_POST
def link_in_group(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Show another sign-in link for a member who has never signed in."""
    return _page(request, group, MemberForm(), made=new_link(request, group=group))


@group_view(*MANAGERS)
@require_POST
def rename(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Change a group's name; site admins do."""
    user = account_of(request)
    if not user.is_superuser:
        raise PermissionDenied
    form = GroupNameForm(request.POST)
    if not form.is_valid():
        return _page(request, group, MemberForm(), name_form=form, status=422)
    rename_group(group=group, name=form.cleaned_data["name"], by=user)
    messages.success(request, _("Saved."))
    return redirect("annotation:group", group.slug)


def _page(
    request: HttpRequest,
    group: ResearchGroup,
    form: MemberForm,
    *,
    name_form: GroupNameForm | None = None,
    made: NewLink | None = None,
    status: int = 200,
) -> HttpResponse:
    user = account_of(request)
    may_manage = may_give_roles(user, group=group)
    grants = grants_in(group=group)
    context = {
        "group": group,
        "studies": group.studies.order_by("slug"),
        "may_manage": may_manage,
        "readers": readers(grants),
        "annotators": pages_of(request, annotators(grants)) if may_manage else None,
        "form": form,
        "name_form": name_form or GroupNameForm(initial={"name": group.name}),
        "made": made,
    }
    return render(request, "annotation/group.html", context, status=status)
