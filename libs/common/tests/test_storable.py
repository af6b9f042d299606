"""What PostgreSQL can't hold is found wherever it stands in a value, and nothing else is touched."""

from typing import Any

import pytest

from common.models import ToolCall
from common.storable import is_storable, storable

FINE: list[Any] = ["", "kettle", "Zoë 😀 \x01\t\n", {"a": ["b", {"c": None}], "n": 1.5}, ["\\u0000"], True]
UNFIT: list[tuple[Any, Any]] = [
    ("a\x00b", "ab"),
    ("\ud83d", ""),
    ("ok\udfff!", "ok!"),
    ({"a": ["x\x00"]}, {"a": ["x"]}),
    ({"k\x00": 1}, {"k": 1}),
    ([["\ud800"], 2], [[""], 2]),
]


@pytest.mark.parametrize("value", FINE)
def test_what_can_be_stored_stays_as_it_is(value: Any) -> None:
    assert is_storable(value)
    assert storable(value) == value


@pytest.mark.parametrize(("value", "left"), UNFIT)
def test_what_can_not_be_stored_is_taken_out(value: Any, left: Any) -> None:
    assert not is_storable(value)
    assert storable(value) == left
    assert is_storable(storable(value, "\ufffd"))


@pytest.mark.parametrize(
    "raw",
    [
        r'{"order_id": "44\u0000"}',
        r'{"order\u0000id": "1"}',
        r'{"a": {"b": ["\ud800"]}}',
        '{"a": "\x00"}',
        '{"amount": 1e999}',
        '{"amount": -1e999}',
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_arguments_that_no_database_can_store_are_malformed(raw: str) -> None:
    assert ToolCall("toolu_1", "get_order", raw).strict_input() is None


@pytest.mark.parametrize("raw", [r'{"a": "\\u0000"}', r'{"a": "\ud83d\ude00"}', '{"a": 1.5e3}'])
def test_arguments_that_only_look_like_it_are_kept(raw: str) -> None:
    assert ToolCall("toolu_1", "get_order", raw).strict_input() is not None
