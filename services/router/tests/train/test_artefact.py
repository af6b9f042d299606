"""The committed artefact is fresh, and good enough on scenarios it never saw."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from router.adapters.encoders import best_encoder
from router.adapters.heads import MODEL_DIR, WEIGHTS_FILE, read_card
from router.core.intents import INTENTS, LANGUAGES
from router.train.fit import REGULARISATION_C, fit_intents
from router.train.measure import encode_all, with_word_rules
from router.train.metrics import calibration_error, noise_floor, score
from router.train.rows import DATA_DIR, data_hash, folds, load_rows


def test_the_artefact_was_trained_on_the_data_as_it_stands() -> None:
    assert read_card()["data_sha256"] == data_hash(), "run `make train` and commit src/router/model"


def test_the_model_card_belongs_to_the_artefact() -> None:
    text = (DATA_DIR.parent / "model-card.md").read_text(encoding="utf-8")
    assert text.startswith(f"# Model card: router {read_card()['version']}")


def test_the_artefact_holds_plain_arrays_only() -> None:
    with np.load(MODEL_DIR / WEIGHTS_FILE, allow_pickle=False) as arrays:
        assert arrays["use+hash_intent_weights"].shape == (len(INTENTS), 4_608)


def test_every_intent_is_authored_in_every_language() -> None:
    counts = Counter((row.intent, row.language) for row in load_rows())
    assert min(counts[intent, language] for intent in INTENTS for language in LANGUAGES) >= 40


def test_no_text_is_authored_twice_and_scenarios_keep_to_one_intent() -> None:
    rows = load_rows()
    assert not [text for text, n in Counter(row.text.lower() for row in rows).items() if n > 1]
    intents = defaultdict(set)
    for row in rows:
        intents[row.scenario].add(row.intent)
    assert all(len(found) == 1 for found in intents.values())


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "intents").mkdir()
    (tmp_path / "intents" / "refund.jsonl").write_text(
        '{"scenario":"a","intent":"refunds","language":"en","text":"x"}\n'
    )
    with pytest.raises(ValueError, match=r"refund\.jsonl:1"):
        load_rows(tmp_path)


# Half a minute of arithmetic, and more where others want the processors too.
@pytest.mark.timeout(600)
def test_unseen_scenarios_are_read_well_enough() -> None:
    rows = load_rows()
    held = np.array(folds([row.scenario for row in rows])) == 0
    vectors = encode_all(best_encoder(), [row.text for row in rows])
    intents = np.array([row.intent for row in rows])
    weights, bias = fit_intents(vectors[~held], intents[~held].tolist(), REGULARISATION_C)
    odds = np.exp(vectors[held] @ weights.T + bias)
    texts = [row.text for row, h in zip(rows, held, strict=True) if h]
    scores = score(with_word_rules(texts, odds / odds.sum(axis=1, keepdims=True)), intents[held].tolist())
    assert scores.accuracy >= 0.70
    assert scores.sensitive_recall >= 0.85
    assert scores.sensitive_false_alarms <= 0.07
    assert scores.ece <= 0.08


def test_calibration_error_sees_a_sure_fool_and_its_floor_shrinks_with_rows() -> None:
    sure = np.full(1_000, 0.95)
    assert calibration_error(sure, np.arange(1_000) % 2 == 0) == pytest.approx(0.45)
    assert calibration_error(sure, np.arange(1_000) % 20 != 0) == pytest.approx(0.0, abs=1e-9)
    spread = np.linspace(0.1, 1.0, 4_000)
    assert noise_floor(spread) < noise_floor(spread[::20])
