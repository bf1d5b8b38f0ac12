"""Users, their roles, their one-time links, and their place as annotators in a study."""

import secrets

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from sesame.utils import get_query_string

from annotation.errors import AnnotationError, UnknownName
from annotation.models import Annotator, ResearchGroup, RoleGrant, Study
from annotation.models.groups import main_group
from annotation.models.people import Role
from annotation.services.studies import validate


@transaction.atomic
def grant_role(
    *, username: str, role: str, study: Study | None = None, group: ResearchGroup | None = None
) -> tuple[User, bool]:
    """Give a user a role in a study, or in all of a group; the user is made, without a password, when missing.

    group : the main one when neither a study nor a group is named

    Returns the user and whether anything changed.
    Raises: UnknownName when there is no such role; AnnotationError when the name can't be a user's.
    """
    if role == Role.ADMIN and study is not None:
        raise AnnotationError("a site admin is one in all studies; leave the study out, or grant study-admin in it")
    if role not in Role.values:
        raise UnknownName(f"role is {role!r}; it must be one of {', '.join(Role.values)}")
    users = get_user_model().objects
    user = users.filter(username=username).first()
    changed = user is None
    if user is None:
        user = User(username=username)
        user.set_unusable_password()  # signs in by link until they set one
        validate(user)
        user.save()
    if role == Role.ADMIN:
        if not user.is_superuser:
            user.is_staff = user.is_superuser = changed = True
            user.save(update_fields=["is_staff", "is_superuser"])
        return user, changed
    if study is None and group is None:
        group = main_group()
    _, made = RoleGrant.objects.get_or_create(user=user, role=role, study=study, group=None if study else group)
    return user, changed or made


def login_link(*, user: User, base_url: str) -> str:
    """Make a link that signs `user` in once, within a day; signing in makes every earlier link invalid."""
    return base_url.rstrip("/") + reverse("annotation:login-link") + get_query_string(user)


def annotator_for(*, user: User, study: Study) -> Annotator:
    """Return this user's place in a study, under a random code that names nobody."""
    annotator, _ = Annotator.objects.get_or_create(
        study=study,
        user=user,
        defaults={"kind": Annotator.Kind.ACCOUNT, "code": f"r-{secrets.token_hex(4)}"},
    )
    return annotator


def keep_creator(*, user: User, study: Study) -> None:
    """Let whoever made a study go on with it: a study admin of it, unless a role elsewhere gives that already."""
    if not Study.objects.seen_by(user, Role.STUDY_ADMIN).filter(pk=study.pk).exists():
        RoleGrant.objects.get_or_create(user=user, role=Role.STUDY_ADMIN, study=study)
