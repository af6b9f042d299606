"""Ids are matched whole and derived ones don't collide by concatenation."""

import pytest

from common.ids import OrderIds, derived_id, new_id


@pytest.mark.parametrize("value", ["4417028", "123456", "123456789012"])
def test_an_order_id_is_six_to_twelve_digits(value: str) -> None:
    assert OrderIds().matches(value)


@pytest.mark.parametrize(
    "value", ["4417028\n", " 4417028", "12345", "1234567890123", "٤٤١٧٠٢٨", "４４１７０２８", 4417028, None, ""]
)
def test_anything_else_is_no_order_id(value: object) -> None:
    assert not OrderIds().matches(value)


@pytest.mark.parametrize(("pattern", "value"), [(r"#[0-9]{4}", "#1001"), (r"W[0-9]{7}", "W1234567")])
def test_a_store_may_write_its_order_ids_otherwise(pattern: str, value: str) -> None:
    ids = OrderIds(pattern)
    assert ids.matches(value)
    assert ids.find_in(f"my order {value}, please") == [value]


def test_order_ids_are_found_in_free_text_once_each_in_order() -> None:
    text = "4417029 and 4417028, again 4417029; call +4917612345678901 or A4417030"
    assert OrderIds().find_in(text) == ["4417029", "4417028"]


def test_derived_ids_repeat_and_do_not_run_together() -> None:
    assert derived_id("a", "bc") == derived_id("a", "bc")
    assert derived_id("a", "bc") != derived_id("ab", "c")


def test_fresh_ids_differ_and_sort_by_time() -> None:
    ids = [new_id("msg") for _ in range(50)]
    assert len(set(ids)) == 50
    assert [i[:16] for i in ids] == sorted(i[:16] for i in ids)
