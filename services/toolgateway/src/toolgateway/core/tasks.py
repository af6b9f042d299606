"""What only a person can finish, as it is shown and closed."""

from typing import Any

from toolgateway.core.ceilings import Person

MAX_WHY_CHARS = 2_000


def shown_task(task: dict[str, Any]) -> dict[str, Any]:
    """Return a task in its JSON form."""
    return {
        name: value.isoformat() if name in ("opened_at", "closed_at") and value is not None else value
        for name, value in task.items()
    }


def why_not_close(person: Person) -> str | None:
    """Return why this person may not close a task, or None: tasks are about money of any amount, so a lead's."""
    return None if person.role == "lead" else "only a lead closes a task"


def read_why(value: object) -> str | None:
    """Return the reason for closing a task, or None where it says nothing."""
    text = value.replace("\x00", "").strip() if isinstance(value, str) else ""
    return text[:MAX_WHY_CHARS] or None
