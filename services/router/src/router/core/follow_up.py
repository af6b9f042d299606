"""Says whether a message answers a question that we asked last."""

from router.core.reading import Asked


def answers_our_question(asked: Asked) -> bool:
    """Say whether the turn right before this message was ours and asked something.

    The offline handle sees only the history; in the service the gateway knows whether the agent's turn is open.
    """
    if not asked.history:
        return False
    sender, text = asked.history[-1]
    return sender == "us" and "?" in text
