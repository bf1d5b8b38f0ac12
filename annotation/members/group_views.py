"""Pages of research groups and their members."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.core.errors import AnnotationError
from annotation.members.forms import GroupForm, GroupNameForm, MemberForm
from annotation.members.groups import create_group, rename_group
from annotation.members.memberships import annotators, grants_in, groups_of, may_give_roles, readers, with_counts
from annotation.members.permissions import FORM, MANAGERS, POST, READERS, account_of, group_view, has_any_role
from annotation.members.role_pages import NewLink, add, annotators_page, new_link, revoke
from annotation.models import ResearchGroup


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def groups_page(request: HttpRequest) -> HttpResponse:
    """List the groups that the user has a reading role in; a site admin sees all and creates new ones."""
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
            messages.success(request, _("Group %(name)s was created. Now grant a role in it.") % {"name": group.name})
            return redirect("annotation:group", group.slug)
    context = {"groups": with_counts(groups_of(user, *READERS)), "form": form}
    return render(request, "annotation/members/groups.html", context, status=422 if form.is_bound else 200)


@never_cache
@group_view(*READERS, methods=FORM)
def group_page(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Show a group's members; its study admins grant roles."""
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


@group_view(*MANAGERS, methods=POST)
def revoke_in_group(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Revoke a role in a group."""
    still_there = revoke(request, group=group)
    return redirect("annotation:group", group.slug) if still_there else redirect("annotation:home")


@never_cache
@group_view(*MANAGERS, methods=POST)
def link_in_group(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Show a new sign-in link for a member who has never signed in."""
    return _page(request, group, MemberForm(), made=new_link(request, group=group))


@group_view(*MANAGERS, methods=POST)
def rename(request: HttpRequest, group: ResearchGroup) -> HttpResponse:
    """Rename a group; for site admins."""
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
        "annotators": annotators_page(request, annotators(grants)) if may_manage else None,
        "form": form,
        "name_form": name_form or GroupNameForm(initial={"name": group.name}),
        "made": made,
    }
    return render(request, "annotation/members/group.html", context, status=status)
