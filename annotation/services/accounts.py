"""Users, their roles, their one-time links, and their place as annotators in a study."""

import secrets

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from sesame.utils import get_query_string

from annotation.errors import AnnotationError, UnknownName
from annotation.models import Annotator, Invitation, ResearchGroup, RoleGrant, Study
from annotation.models.groups import main_group
from annotation.models.people import Role
from annotation.prepared import Prepared
from annotation.registered_names import MARK, came_by_themselves, is_registered_name
from annotation.services.studies import validate


@transaction.atomic
def grant_role(
    *,
    username: str,
    role: str,
    study: Study | None = None,
    group: ResearchGroup | None = None,
    any_account: bool = False,
) -> tuple[User, bool]:
    """Give a user a role in a study, or in all of a group; the user is made, without a password, when missing.

    Links into an account that was there already stop working, since others than its owner may have them: they were
    made when it opened less.

    group       : the main one when neither a study nor a group is named
    any_account : also an account that came through a channel: whoever has it may be anybody

    Returns the user and whether anything changed.
    Raises: UnknownName when there is no such role; AnnotationError when the name can't be a user's, or is that of
    somebody who came through a channel.
    """
    if role == Role.ADMIN and (study is not None or group is not None):
        what = "study" if study is not None else "group"
        raise AnnotationError(f"a site admin is one in all studies; leave the {what} out, or grant study-admin in it")
    if study is not None and group is not None:
        raise AnnotationError("a role is in one study or in all of a group: name one of the two")
    if role not in Role.values:
        raise UnknownName(f"role is {role!r}; it must be one of {', '.join(Role.values)}")
    users = get_user_model().objects
    user = users.filter(username=username).first()
    changed = user is None
    if study is None and group is None and role != Role.ADMIN:
        group = main_group()
    if user is None:
        if is_registered_name(username):
            raise AnnotationError(f"username: {MARK} stands in names of people who register by themselves only")
        user = User(username=username)
        user.set_unusable_password()  # signs in by link until they set one
        validate(user)
        user.save()
    elif not _holds(user, role, study, group):
        if not any_account and came_by_themselves(user):
            raise AnnotationError(
                f"{username} came through a channel, and may be anybody; grant --any-account gives them a role anyway"
            )
        _end_links(user, role)
    if role == Role.ADMIN:
        if not user.is_superuser:
            user.is_staff = user.is_superuser = changed = True
            user.save(update_fields=["is_staff", "is_superuser"])
        return user, changed
    _, made = RoleGrant.objects.get_or_create(user=user, role=role, study=study, group=None if study else group)
    return user, changed or made


def _holds(user: User, role: str, study: Study | None, group: ResearchGroup | None) -> bool:
    if role == Role.ADMIN:
        return user.is_superuser
    return user.role_grants.filter(role=role, study=study, group=None if study else group).exists()


def _end_links(user: User, role: str) -> None:
    """End the links into an account that is about to open more, and sessions that somebody else may have begun.

    Who signs in by link only and has done so stays signed in: a role that anybody gives them would put them out
    otherwise. A site admin's account, and one that came through a channel, begins anew all the same.
    """
    # Invitations first: whoever is using one at this moment has its row, and their session ends with the password.
    Invitation.objects.filter(annotator__user=user, used_at=None).update(expires_at=timezone.now())
    begins_anew = user.last_login is None or role == Role.ADMIN or came_by_themselves(user)
    if begins_anew and not user.has_usable_password():
        user.set_unusable_password()  # another random one: sign-in links and sessions are signed with it
        user.save(update_fields=["password"])


def login_link(*, user: User, base_url: str) -> str:
    """Make a link that signs `user` in once, within a day; signing in makes every earlier link invalid."""
    return base_url.rstrip("/") + reverse("annotation:login-link") + get_query_string(user)


def annotator_for(*, user: User, study: Study) -> Annotator:
    """Return this user's place in a study, under a random code that names nobody."""
    annotator = _ANNOTATOR.first(study=study.pk, user=user.pk)
    if annotator is None:
        annotator, _ = Annotator.objects.get_or_create(
            study=study,
            user=user,
            defaults={"kind": Annotator.Kind.ACCOUNT, "code": f"r-{secrets.token_hex(4)}"},
        )
    annotator.study = study
    return annotator


def _annotator(study: int, user: int) -> QuerySet[Annotator]:
    return Annotator.objects.filter(study=study, user=user)


_ANNOTATOR = Prepared(_annotator)


def keep_creator(*, user: User, study: Study) -> None:
    """Let whoever made a study go on with it: a study admin of it, unless a role elsewhere gives that already."""
    if not Study.objects.seen_by(user, Role.STUDY_ADMIN).filter(pk=study.pk).exists():
        RoleGrant.objects.get_or_create(user=user, role=Role.STUDY_ADMIN, study=study)
