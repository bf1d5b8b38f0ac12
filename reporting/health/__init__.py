"""How this installation does: /healthz, /readyz, /metrics, the status page, and the middleware that counts requests.

May use models.
"""
