"""`delete_account USER --confirm USER [--preview]`."""

from typing import Any

from django.contrib.auth.models import User

from annotation.core.errors import UnknownName
from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by
from annotation.management.commands._settings import FORMAT
from reporting.corrections.accounts import DeleteAccount
from reporting.corrections.declarations import corrected


class Command(TandemCommand):
    help = "Delete an account with its roles and tokens. Its ratings stay under their codes."

    arguments = (argument("user"), *arguments_of(DeleteAccount), FORMAT)

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise UnknownName(f"there is no user {options['user']}")
        values = {name: options[name] for name in DeleteAccount.base_fields}
        form = filled_by(DeleteAccount, values, user=user)
        effects, document = corrected(form, None)
        self.say_result([*map(str, effects), document["message"]], document, options)
