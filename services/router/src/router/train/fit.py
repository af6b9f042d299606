"""Fits the two linear heads: balanced logistic regression for intents, ridge on the stretched scale for sentiment."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression, Ridge

from router.adapters.encoders import Vectors
from router.adapters.heads import Heads
from router.core.intents import INTENTS

# Inverse regularisation, chosen by scenario-split log loss and calibration (the card prints the alternatives).
REGULARISATION_C = 20.0
_SENTIMENT_ALPHA = 1.0
# Ridge pulls every score to the middle, so the upset would pass for annoyed. Stretching it finds more of them; at 1.2
# the calm taken for upset pass 5 % (out of fold, `sentiment_out_of_fold`).
_STRETCH = 1.1
# tanh reaches ±1 only at infinity.
_FURTHEST = 0.96
# Calm messages outnumber the scored ones; at full weight they would pull every score to the middle.
_CALM_WEIGHT = 0.15
CALM_INTENTS = frozenset(
    {"policy_question", "product_question", "account_update", "change_address", "return_request", "cancel_order"}
)


def fit_intents(
    vectors: Vectors, intents: Sequence[str], c: float = REGULARISATION_C
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return weights (intents × dimensions) and biases, in the order of INTENTS."""
    labels = np.array([INTENTS.index(intent) for intent in intents])
    model: Any = LogisticRegression(C=c, max_iter=1_000, tol=1e-3, class_weight="balanced")
    model.fit(vectors, labels)
    if model.coef_.shape[0] != len(INTENTS):
        raise ValueError("the training rows lack an intent")
    return model.coef_.astype(np.float32), model.intercept_.astype(np.float32)


def fit_sentiment(
    vectors: Vectors, sentiments: Sequence[float], calm: Vectors
) -> tuple[npt.NDArray[np.float32], float]:
    """Return weights and bias under a tanh; ``calm`` are vectors of messages without feeling, taken as 0."""
    targets = np.arctanh(np.clip(np.array([*sentiments, *[0.0] * len(calm)]), -_FURTHEST, _FURTHEST))
    weights = np.array([1.0] * len(sentiments) + [_CALM_WEIGHT] * len(calm))
    model: Any = Ridge(alpha=_SENTIMENT_ALPHA)
    model.fit(np.concatenate([vectors, calm]), targets, sample_weight=weights)
    return (_STRETCH * model.coef_).astype(np.float32), _STRETCH * float(model.intercept_)


def fit_heads(
    vectors: Vectors,
    intents: Sequence[str],
    sentiment_vectors: Vectors,
    sentiments: Sequence[float],
    c: float = REGULARISATION_C,
) -> Heads:
    """Fit both heads of one encoder."""
    weights, bias = fit_intents(vectors, intents, c)
    calm = vectors[[intent in CALM_INTENTS for intent in intents]]
    sentiment_weights, sentiment_bias = fit_sentiment(sentiment_vectors, sentiments, calm)
    return Heads(weights, bias, sentiment_weights, sentiment_bias)
