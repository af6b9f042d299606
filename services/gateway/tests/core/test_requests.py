"""Tables of what a client may send."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core import requests
from gateway.core.rejections import Rejected


@pytest.mark.parametrize(
    ("value", "expected"), [(None, 0), ("", 0), ("0", 0), ("7", 7), ("007", 7), ("9" * 25, 2**63 - 1)]
)
def test_last_event_id_is_a_number_that_never_overflows(value: str | None, expected: int) -> None:
    assert requests.read_last_event_id(value) == expected


@pytest.mark.parametrize("value", ["a", "-1", "1.0", "1e3", " 1", "1\n", "١", "9" * 31])
def test_any_other_last_event_id_is_malformed(value: str) -> None:
    with pytest.raises(Rejected) as e:
        requests.read_last_event_id(value)
    assert e.value.status == 400


@pytest.mark.parametrize("value", ["conv_1", "a-b.c:d", "x" * 100])
def test_an_id_is_matched_whole(value: str) -> None:
    assert requests.read_id(value) == value


@pytest.mark.parametrize("value", ["", "a\n", "a b", "a\x00", "ä", "x" * 101, "../x", "a'b"])
def test_an_odd_id_is_simply_not_there(value: str) -> None:
    with pytest.raises(Rejected) as e:
        requests.read_id(value)
    assert e.value.status == 404


@pytest.mark.parametrize("value", ["k", "a b", "x" * 255, "~!@#"])
def test_a_key_is_printable_ascii(value: str) -> None:
    assert requests.read_idempotency_key(value) == value


@pytest.mark.parametrize("value", [None, "", "  ", "a\t", "k\x00", "é", "x" * 256, " a", "a\n"])
def test_any_other_key_is_400(value: str | None) -> None:
    with pytest.raises(Rejected) as e:
        requests.read_idempotency_key(value)
    assert e.value.status == 400


def status_of(raw: bytes) -> int:
    try:
        requests.read_new_message(raw)
    except Rejected as e:
        return e.status
    return 200


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_named_refusal(raw: bytes) -> None:
    assert status_of(raw) in (200, 400, 413, 422)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_any_json_is_a_message_or_a_named_refusal(value: Any) -> None:
    for body in (value, {"text": value}, {"text": "hello", "locale": value}):
        assert status_of(json.dumps(body).encode()) in (200, 400, 413, 422)


def test_the_digest_ignores_order_and_sees_every_member() -> None:
    one = requests.read_new_message(b'{"text":"a","locale":"en"}')
    same = requests.read_new_message(b'{ "locale": "en", "text": "\\u0061" }')
    other = requests.read_new_message(b'{"text":"a","locale":"en","x":1}')
    assert one.body_hash == same.body_hash != other.body_hash


@pytest.mark.parametrize("value", ["en", "es-MX", "zh-Hant-TW", "de_AT"])
def test_a_locale_is_a_language_tag(value: str) -> None:
    assert requests.read_locale(value) == value
