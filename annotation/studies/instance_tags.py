"""Tags of instances, by which parts of a study are selected and compared."""

from typing import Any


def tags_of(metadata: dict[str, Any]) -> tuple[str, ...]:
    """Return the tags in an instance's metadata: texts, or one text, under `tags` or `tag`."""
    tags: list[str] = []
    for key in ("tags", "tag"):
        value = metadata.get(key)
        tags += [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(tag for tag in tags if isinstance(tag, str) and tag))
