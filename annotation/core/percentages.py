"""Shares in percent, on pages and in texts, as 52.5%."""


def percent(share: float | None, decimals: int = 1) -> str:
    """Write a share in rounded percent, or a dash for an undefined one."""
    return "–" if share is None else f"{100 * share:z.{decimals}f}%"
