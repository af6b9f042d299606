"""The session statements that go out with messages: signed here, and handed out again while they are still young."""

from datetime import datetime

from common.statements import SESSION_AUDIENCE, Signer, session_claims
from gateway.core.conversations import Conversation, ProofName

# Of its life; a reader finds at least four fifths of it left, and one that runs short is renewed.
_HANDED_OUT = 0.2
_REMEMBERED = 4_096
_Said = tuple[str, str, str, str, tuple[str, ...]]


class Assertions:
    """Signs who the customer of a conversation is, and how that was verified; ``life_s`` is how long one holds.

    A customer's next messages carry the same statement while it says the same: signing costs a tenth of a millisecond,
    and checking it anew several times that in each service that reads it.
    """

    def __init__(self, signer: Signer, life_s: float) -> None:
        self._signer, self._life_s = signer, life_s
        self._signed: dict[_Said, tuple[str, float]] = {}

    def current(self, conversation: Conversation, channel: str, proof: ProofName, now: datetime) -> str:
        """Return a statement for a message that comes ``now``."""
        said = _said(conversation, channel, proof, now)
        token, until = self._signed.get(said, ("", 0.0))
        # A clock set back must not stretch the time one is handed out.
        if not until - self._life_s * _HANDED_OUT <= now.timestamp() < until:
            token = self._sign(said, now)
            self._remember(said, token, now.timestamp() + self._life_s * _HANDED_OUT)
        return token

    def fresh(self, conversation: Conversation, channel: str, proof: ProofName, now: datetime) -> str:
        """Return a statement that nobody has had, for one who holds another already."""
        said = _said(conversation, channel, proof, now)
        self._signed.pop(said, None)
        return self._sign(said, now)

    def _sign(self, said: _Said, now: datetime) -> str:
        customer_id, conversation_id, channel, proof, fields = said
        claims = session_claims(
            customer_id=customer_id,
            conversation_id=conversation_id,
            channel=channel,
            verified_by=proof,
            verified_fields=fields,
        )
        return self._signer.sign(SESSION_AUDIENCE, claims, self._life_s, now)

    def _remember(self, said: _Said, token: str, until: float) -> None:
        self._signed.pop(said, None)
        if len(self._signed) >= _REMEMBERED:
            self._signed.pop(next(iter(self._signed)))
        self._signed[said] = (token, until)


def _said(conversation: Conversation, channel: str, proof: ProofName, now: datetime) -> _Said:
    assert conversation.customer_id is not None
    return conversation.customer_id, conversation.id, channel, proof, conversation.verified_fields(proof, now)
