"""The parts of the trained network: cutting words, unpacking numbers, shares by kind, and two readers as one."""

import numpy as np
import pytest

from agent.adapters.claim_encoder import ClaimEncoder, artefact, unpacked
from agent.adapters.claim_network import GROUP_OF, GROUPS, gelu, opinion_of
from agent.adapters.claim_readers import averaged, is_sure
from agent.adapters.claim_tokens import CLOSING, OPENING, UNKNOWN, Pieces
from agent.core.claims import Opinion

PIECES = Pieces(
    ("<s>", "<pad>", "</s>", "<unk>", "▁re", "fund", "▁refund", "s", "▁"), (0, 0, 0, 0, -5, -5, -6, -2, -3), 8
)


def test_a_word_is_cut_into_the_pieces_that_are_likeliest_together() -> None:
    assert PIECES.ids("refunds") == [OPENING, 6, 7, CLOSING]


def test_a_letter_without_a_piece_is_marked_and_costs_only_itself() -> None:
    assert PIECES.ids("sßs") == [OPENING, 8, 7, UNKNOWN, 7, CLOSING]


def test_a_long_text_is_cut_to_what_the_encoder_reads_and_still_closed() -> None:
    ids = PIECES.ids("refund " * 20)
    assert len(ids) == 8
    assert ids[-1] == CLOSING


def test_four_bit_numbers_are_read_in_blocks_with_their_scale() -> None:
    scale = np.array([0.5], dtype=np.float16).view(np.uint8)
    block = np.concatenate([scale, np.full(16, 0x19, dtype=np.uint8)])
    values = unpacked(block[None, :])
    assert values.shape == (1, 32)
    assert np.allclose(values[0, :16], 0.5 * (9 - 8))
    assert np.allclose(values[0, 16:], 0.5 * (1 - 8))


def test_the_gate_leaves_large_values_and_drops_negative_ones() -> None:
    assert np.allclose(gelu(np.array([6.0, -6.0, 0.0], dtype=np.float32)), [6.0, 0.0, 0.0], atol=1e-3)


def test_texts_read_together_give_what_each_gives_alone() -> None:
    encoder = ClaimEncoder(artefact())
    texts = ["Your refund is on its way.", "Nein.", "L’étiquette n'a pas encore été créée, patience."]
    together = encoder(texts)
    assert together.shape == (3, 768)
    for text, vector in zip(texts, together, strict=True):
        assert np.allclose(encoder([text])[0], vector, atol=1e-4)


def test_scores_become_shares_of_each_kind_beside_silence() -> None:
    scores = np.full(len(GROUP_OF), -20.0, dtype=np.float32)
    scores[0] = 0.0
    opinion = opinion_of(scores)
    assert opinion.groups[0][0] == ("refund", "done", pytest.approx(0.5, abs=1e-4))
    assert sum(share for _, _, share in opinion.groups[1]) == pytest.approx(0.0, abs=1e-4)
    assert len(opinion.groups) == len(GROUPS)


def test_two_opinions_meet_in_the_middle_kind_by_kind() -> None:
    first = Opinion(((("refund", "done", 0.8),),))
    second = Opinion(((("refund", "done", 0.2), ("refund", "pending", 0.6)), (("cancel", "done", 0.4),)))
    found = {(topic, manner): share for group in averaged(first, second, 0.5).groups for topic, manner, share in group}
    assert found == pytest.approx({("refund", "done"): 0.5, ("refund", "pending"): 0.3, ("cancel", "done"): 0.2})


@pytest.mark.parametrize(
    ("shares", "sure"), [((), True), ((0.01, 0.01), True), ((0.95,), True), ((0.5, 0.4), False), ((0.2,), False)]
)
def test_only_near_silence_or_one_clear_reading_is_sure(shares: tuple[float, ...], sure: bool) -> None:
    assert is_sure(Opinion((tuple(("refund", f"m{at}", share) for at, share in enumerate(shares)),))) is sure
