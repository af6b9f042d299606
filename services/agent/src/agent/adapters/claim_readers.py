"""The reply check's second opinion as packaged: the linear reader and the network, whose probabilities are averaged."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from agent.adapters import claim_encoder, claim_network
from agent.adapters.claim_encoder import ClaimEncoder
from agent.adapters.claim_network import ClaimNetwork
from agent.adapters.claim_reader import ClaimReader
from agent.adapters.encoding import load_encoder
from agent.core.claims.opinion import Opinion
from agent.core.claims.segments import Segment

# On rounds left out the two err on different sentences; neither alone does as well as both (decision 0009).
_NETWORK_SHARE = 0.65
# So sure of silence, or of one reading, the linear reader is right too often for the network to be worth its time.
_SURE_OF_SILENCE, _SURE_OF_READING = 0.95, 0.9


class ClaimReaders:
    """One opinion of two readers. Not thread-safe; each remembers what it read lately."""

    def __init__(self, linear: ClaimReader, network: ClaimNetwork) -> None:
        self._linear, self._network = linear, network

    def __call__(self, segments: Sequence[Segment]) -> list[Opinion]:
        """One opinion a segment; the network is asked only where the linear reader is in doubt."""
        with _one_thread():
            found = self._linear(segments)
            doubtful = [at for at, opinion in enumerate(found) if not is_sure(opinion)]
            for at, second in zip(doubtful, self._network([segments[at] for at in doubtful]), strict=True):
                found[at] = averaged(found[at], second, _NETWORK_SHARE)
        return found

    def warm(self, segments: Sequence[Segment]) -> None:
        """Encode many for the linear reader at once, which costs it half of one by one; the network gains nothing."""
        with _one_thread():
            self._linear.warm([segment.text for segment in segments])


def is_sure(opinion: Opinion) -> bool:
    """Whether one reading, or that nothing is claimed, leaves next to no room for others."""
    shares = [share for group in opinion.groups for _, _, share in group]
    return sum(shares) <= 1 - _SURE_OF_SILENCE or max(shares) >= _SURE_OF_READING


def averaged(first: Opinion, second: Opinion, share_of_second: float) -> Opinion:
    """Kind by kind the mean of both; what one doesn't mention counts as 0 there."""
    sums: dict[str, dict[tuple[str, str], float]] = {}
    for opinion, weight in ((first, 1 - share_of_second), (second, share_of_second)):
        for group in opinion.groups:
            for topic, manner, share in group:
                said = sums.setdefault(topic.partition(":")[0], {})
                said[topic, manner] = said.get((topic, manner), 0.0) + weight * share
    return Opinion(tuple(tuple((topic, manner, p) for (topic, manner), p in said.items()) for said in sums.values()))


@cache
def load_reader() -> ClaimReaders | None:
    """Both readers, or None where the sentence encoder's wheel isn't installed (the rules then judge alone)."""
    encoder = load_encoder()
    if encoder is None:
        return None
    network = ClaimNetwork(ClaimEncoder(claim_encoder.artefact()), claim_network.artefact())
    return ClaimReaders(ClaimReader(encoder), network)


@cache
def _threads() -> Any:
    """What limits numpy's threads, if it is installed (the retrieval encoder brings it)."""
    try:
        from threadpoolctl import (  # type: ignore[import-untyped]  # noqa: PLC0415 - without it: slower
            ThreadpoolController,
        )
    except ImportError:
        return None
    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[object]:
    """Matrices this small are slower on two threads than on one, and take both processors for it."""
    controller = _threads()
    return controller.limit(limits=1, user_api="blas") if controller else nullcontext()
