"""Health of the installation: checks, metrics, the status page, and the middleware that counts requests.

May use models.
"""
