"""How a share is written in percent, on pages and in texts, as 52.5%."""


def percent(share: float | None, places: int = 1) -> str:
    """Write a share in percent, rounded; an undefined one as a dash."""
    return "–" if share is None else f"{100 * share:z.{places}f}%"
