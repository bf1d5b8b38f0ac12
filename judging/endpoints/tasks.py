"""Testing an endpoint in a worker process."""

from django_tasks import task

from judging.models import Endpoint


@task()
def probe(endpoint_id: int) -> bool:
    """Test an endpoint and store what it supports; returns whether it answers at all."""
    # Web processes import this module to enqueue, and must not load the `openai` client.
    from judging.endpoints.probing import probe_endpoint

    return bool(probe_endpoint(Endpoint.objects.get(pk=endpoint_id)).supports["chat"])
