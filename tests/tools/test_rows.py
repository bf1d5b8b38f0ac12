"""What a module's tests read stays for the module only."""

import pytest
from django.contrib.auth.models import User
from django.db import connection

from tests.rows import undone_at_the_end


@pytest.mark.django_db(transaction=True)
def test_rows_of_a_module_are_gone_after_it() -> None:
    with undone_at_the_end():
        User.objects.create(username="kept")
        assert User.objects.exists()
    assert not User.objects.exists()
    assert connection.get_autocommit()
