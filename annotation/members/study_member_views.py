"""Pages of a study's members, and moving it to another group."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from annotation.members.forms import MemberForm, MoveStudyForm
from annotation.members.groups import move_study
from annotation.members.memberships import annotators, grants_in, readers
from annotation.members.permissions import FORM, MANAGERS, POST, account_of, study_view
from annotation.members.role_pages import NewLink, add, annotators_page, new_link, revoke
from annotation.models import Annotator, ResearchGroup, Study


@never_cache
@study_view(*MANAGERS, methods=FORM)
def members(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the members of a study and its group, and grant roles in the study."""
    if request.method != "POST":
        return _page(request, study, MemberForm())
    form = MemberForm(request.POST)
    added = add(request, form, study=study)
    if added is None:
        return _page(request, study, form, status=422)
    return _page(request, study, MemberForm(), made=added) if added.url else redirect("annotation:members", study.slug)


@study_view(*MANAGERS, methods=POST)
def revoke_in_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Revoke a role in a study."""
    still_there = revoke(request, study=study)
    return redirect("annotation:members", study.slug) if still_there else redirect("annotation:home")


@never_cache
@study_view(*MANAGERS, methods=POST)
def link_in_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a new sign-in link for a member who has never signed in."""
    return _page(request, study, MemberForm(), made=new_link(request, study=study))


@study_view(*MANAGERS, methods=POST)
def move(request: HttpRequest, study: Study) -> HttpResponse:
    """Move a study to another group; for site admins."""
    user = account_of(request)
    if not user.is_superuser:
        raise PermissionDenied
    form = MoveStudyForm(request.POST, study=study)
    if not form.is_valid():
        return _page(request, study, MemberForm(), move_form=form, status=422)
    group = form.cleaned_data["group"]
    ended = move_study(study=study, group=group, by=user)
    message = _("%(study)s belongs to %(group)s now; roles in the study itself that ended: %(ended)d.")
    messages.success(request, message % {"study": study.slug, "group": group.name, "ended": ended})
    return redirect("annotation:members", study.slug)


def _page(
    request: HttpRequest,
    study: Study,
    form: MemberForm,
    *,
    move_form: MoveStudyForm | None = None,
    made: NewLink | None = None,
    status: int = 200,
) -> HttpResponse:
    user = account_of(request)
    own, of_group = grants_in(study=study), grants_in(group=study.group)
    through_channels = study.annotators.filter(user__isnull=False).exclude(kind=Annotator.Kind.ACCOUNT)
    context = {
        "study": study,
        "group": study.group,
        "readers": readers(own),
        "annotators": annotators_page(request, annotators(own, study=study)),
        "group_readers": readers(of_group),
        "group_annotators": annotators(of_group).count(),
        "channel_raters": through_channels.count(),
        "form": form,
        "move_form": move_form or _move_form(user, study),
        "made": made,
    }
    return render(request, "annotation/members/members.html", context, status=status)


def _move_form(user: User, study: Study) -> MoveStudyForm | None:
    """Return the form for a site admin, if there is another group."""
    may_move = user.is_superuser and ResearchGroup.objects.exclude(pk=study.group_id).exists()
    return MoveStudyForm(study=study) if may_move else None
