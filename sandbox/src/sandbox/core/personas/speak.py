"""Who answers: a task is done plainly by every model, a conversation in the persona's own way."""

from collections.abc import Callable

from sandbox.core.personas.chaotic import chaotic
from sandbox.core.personas.helpful import helpful
from sandbox.core.personas.tasks import do_task, is_task
from sandbox.core.personas.wicked import liar, looper, obedient
from sandbox.core.turn import Conversation, Persona, Turn

_PERSONAS: dict[Persona, Callable[[Conversation], Turn]] = {
    "helpful": helpful,
    "obedient": obedient,
    "liar": liar,
    "looper": looper,
    "chaotic": chaotic,
}


def speak(persona: Persona, conversation: Conversation) -> Turn:
    """Return the persona's next turn."""
    return do_task(conversation) if is_task(conversation) else _PERSONAS[persona](conversation)
