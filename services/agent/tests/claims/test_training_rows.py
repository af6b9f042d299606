"""What the network learns from: rows held back stay so, and each label is judged beside a row's facts."""

import numpy as np

from agent.adapters import claim_encoder
from agent.adapters.claim_network import GROUPS
from agent.claim_training import rows
from agent.claim_training.packing import Vocabulary

ROW = {
    "id": "x-1",
    "language": "en",
    "reply": "Your refund of $64.00 was sent.",
    "facts": {"actions": [{"kind": "refund", "status": "succeeded", "amount": "64.00", "currency": "USD"}]},
    "expected": {"holds": True, "kinds": ["refund"]},
}


def test_rows_held_back_are_never_learned_from_not_even_their_words() -> None:
    learned = {(row["language"], row["reply"]) for row in rows.learned_rows()}
    held = [row for found in rows.held_back().values() for row in found]
    assert len(learned) > 2_000
    assert len(held) > 900
    assert all((row["language"], row["reply"]) not in learned for row in held)


def test_each_label_of_a_sentence_is_judged_beside_the_facts() -> None:
    case = rows.case_of(ROW)
    assert case.truths.shape == (1, rows.OUTPUTS)
    true = {rows.LABELS[at] for at in np.flatnonzero(case.truths[0])}
    assert {("refund", "done"), ("refund", "started"), ("cancel", "negated")} <= true
    assert not {("refund", "pending"), ("refund", "negated"), ("refund", "absent"), ("cancel", "done")} & true
    assert case.silences.all()


def test_the_rules_readings_become_labels_of_their_group() -> None:
    ((_, labels),) = rows.segments_of_reply("Your refund of $64.00 was sent.", "en")
    assert [rows.LABELS[at] for at in labels] == [("refund", "done")]
    assert len(rows.LABELS) == sum(map(len, GROUPS))


def test_training_keeps_the_packaged_vocabulary() -> None:
    vocabulary = Vocabulary.packaged(claim_encoder.artefact())
    assert vocabulary.pieces[:4] == ("<s>", "<pad>", "</s>", "<unk>")
    assert len(vocabulary.pieces) == len(vocabulary.scores) == len(vocabulary.words)
