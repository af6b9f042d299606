"""What a trained reader of claims lately said of segments; both readers remember the same way."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

from agent.adapters.encoding import Encoder, Remembered, Vectors
from agent.core.claims.opinion import Opinion
from agent.core.claims.segments import IDEAS, KINDS, STATUSES, Segment

# The yes/no values a segment brings.
IDEA_COUNT = len(IDEAS) + 2 * len(KINDS) + len(STATUSES) + 6
_KEPT = 2_000


class RememberedOpinions:
    """Opinions and vectors of the segments seen lately. ``read`` gets a segment with its vector. Not thread-safe."""

    def __init__(self, encoder: Encoder, read: Callable[[Vectors, Segment], Opinion]) -> None:
        self._vectors, self._read = Remembered(encoder, _KEPT), read
        self._known: OrderedDict[Segment, Opinion] = OrderedDict()

    def of(self, segments: Sequence[Segment]) -> list[Opinion]:
        """One opinion a segment; segments seen lately cost a look-up."""
        fresh = [s for s in dict.fromkeys(segments) if s not in self._known]
        if fresh:
            self._vectors.warm([s.text for s in fresh])
        for segment in fresh:
            self._known[segment] = self._read(self._vectors.of(segment.text), segment)
        found = [self._known[segment] for segment in segments]
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found

    def warm(self, texts: Sequence[str]) -> None:
        """Encode many texts at once, which costs a half to a third of one by one."""
        self._vectors.warm(texts)
