"""Keys never collide, and arguments are exactly what a tool says, or nothing."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.ids import OrderIds
from toolgateway.core import keys
from toolgateway.core.arguments import TOOLS, BadArguments, read_arguments
from toolgateway.core.catalogue import tool_catalogue

IDS = OrderIds()
REFUND = {"order_id": "4417028", "line_id": "L1", "amount": "64.00", "reason": "damaged"}
ADDRESS = {"line1": "5 Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"}


def test_keys_are_the_business_facts() -> None:
    assert keys.refund("4417028", "L1").key() == "refund:4417028:L1"
    assert keys.refund("4417028", "L1").key(generation=2) == "refund:4417028:L1~2"
    assert keys.cancel("4417028").key() == "cancel:4417028"
    assert keys.address_change("4417028").key(n=3) == "address_change:4417028:3"
    assert keys.account_change("C-1", "email").key(n=1, generation=2) == "account_change:C-1:email:1~2"
    assert keys.return_label("4417028", ("L2", "L1")).key() == "return_label:4417028:L1,L2"


def test_bb_ord_05_separators_inside_parts_never_make_two_facts_one() -> None:
    pairs = [("A:1", "2"), ("A", "1:2"), ("A%3A1", "2"), ("A", "1"), ("A", "1~2"), ("A", "1,2"), ("#1001", "L 1")]
    made = [keys.refund(*pair).key() for pair in pairs] + [keys.refund("A", "1").key(generation=2)]
    assert len(set(made)) == len(made)
    assert all(key.isascii() for key in made)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8)), unique=True, max_size=6))
def test_different_facts_have_different_keys(pairs: list[tuple[str, str]]) -> None:
    facts = [keys.refund(*pair).key(generation=g) for pair in pairs for g in (1, 2)]
    for one, other in combinations(facts, 2):
        assert one != other


def test_a_label_for_very_many_lines_still_fits_a_key() -> None:
    many = tuple(f"line-{n:040d}" for n in range(50))
    key = keys.return_label("4417028", many).key(generation=2)
    assert len(key) < 255
    assert key == keys.return_label("4417028", tuple(reversed(many))).key(generation=2)


@pytest.mark.parametrize(
    "order_id",
    ["4417028\n", "4417028\r\n", "\n4417028", "4417028 ", "٤٤١٧٠٢٨", "44", "4417028'", "", 4417028, None, ["x"]],
)
def test_bb_ord_06_an_order_id_is_matched_whole(order_id: object) -> None:
    with pytest.raises(BadArguments):
        read_arguments("get_order", {"order_id": order_id}, IDS)


def test_a_store_may_write_its_order_ids_otherwise() -> None:
    assert read_arguments("get_order", {"order_id": "#W1234567"}, OrderIds(r"#W[0-9]{7}"))


@pytest.mark.parametrize(
    "amount",
    [64, 64.0, None, "", "-64.00", "+64.00", "1e3", "NaN", "Infinity", "64,00", "1_000.00", "064.00", " 64.00",
     "64.00\n", "６４.00", "0x10", ["64.00"], True, "64.0000", "all"],
)  # fmt: skip
def test_bb_amt_14_an_amount_that_is_not_plain_digits_is_no_amount(amount: object) -> None:
    with pytest.raises(BadArguments):
        read_arguments("issue_refund", {**REFUND, "amount": amount}, IDS)


@pytest.mark.parametrize("tool", sorted(TOOLS))
@pytest.mark.parametrize("extra", ["customer_id", "idempotency_key", "policy_passed", "verified", "key"])
def test_bb_dup_06_no_tool_takes_an_identity_a_key_or_a_claim(tool: str, extra: str) -> None:
    good: dict[str, Any] = {
        "get_order": {"order_id": "4417028"},
        "list_orders": {},
        "issue_refund": REFUND,
        "cancel_order": {"order_id": "4417028", "reason": "no longer needed"},
        "change_address": {"order_id": "4417028", "address": ADDRESS},
        "create_return_label": {"order_id": "4417028", "line_ids": ["L1"], "reason": "too small"},
        "update_account_field": {"field": "email", "value": "maya@example.com"},
        "search_help_center": {"query": "returns"},
        "hand_to_person": {"reason": "asked"},
    }[tool]
    assert read_arguments(tool, good, IDS)
    with pytest.raises(BadArguments):
        read_arguments(tool, {**good, extra: "C-1001"}, IDS)


@pytest.mark.parametrize("raw", [None, [], "x", 5, {"order_id": {"$ne": ""}}, {}])
def test_any_json_value_is_answered_not_crashed_on(raw: object) -> None:
    with pytest.raises(BadArguments):
        read_arguments("get_order", raw, IDS)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("email", "maya"),
        ("email", "quıck@example.com"),
        ("email", "a@b.c, d@e.f"),
        ("email", ADDRESS),
        ("address", "1 Elm Street"),
        ("name", "x\u2028y"),
        ("name", ""),
        ("tier", "enterprise"),
        ("fraud_score", "0"),
    ],
)
def test_an_account_field_takes_only_its_own_kind_of_value(field: str, value: object) -> None:
    with pytest.raises(BadArguments):
        read_arguments("update_account_field", {"field": field, "value": value}, IDS)


@pytest.mark.parametrize("line_ids", [[], ["L1", "L1"], "L1", [1], [None]])
def test_a_label_needs_each_line_once(line_ids: object) -> None:
    with pytest.raises(BadArguments):
        read_arguments("create_return_label", {"order_id": "4417028", "line_ids": line_ids, "reason": "x"}, IDS)


def test_every_schema_shown_to_the_model_is_closed() -> None:
    for tool in tool_catalogue():
        schemas = [tool["input_schema"], *tool["input_schema"].get("$defs", {}).values()]
        assert all(schema["additionalProperties"] is False for schema in schemas), tool["name"]
