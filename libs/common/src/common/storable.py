"""What text and JSON of PostgreSQL can't hold and JSON from outside can: U+0000 and half of a surrogate pair.

Whoever takes in a model's words or another system's record lets no such sign pass; a row that can't be written would
otherwise look like a database in trouble.
"""

import re
from typing import Any

_UNFIT = re.compile("[\x00\ud800-\udfff]")


def is_storable(value: Any) -> bool:
    """Say whether a value read from JSON, keys included, can be written."""
    match value:
        case str():
            return _UNFIT.search(value) is None
        case dict():
            return all(is_storable(key) and is_storable(item) for key, item in value.items())
        case list():
            return all(map(is_storable, value))
        case _:
            return True


def storable(value: Any, instead: str = "") -> Any:
    """Return the value with ``instead`` for every sign that can't be written."""
    match value:
        case str():
            return value if is_storable(value) else _UNFIT.sub(instead, value)
        case dict():
            return {storable(key, instead): storable(item, instead) for key, item in value.items()}
        case list():
            return [storable(item, instead) for item in value]
        case _:
            return value
