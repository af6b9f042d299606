"""A third party's retail shop in our store's terms: its orders and users, its tasks' gold actions, its end states."""

import copy
import json
from dataclasses import dataclass, field
from typing import Any

from stack.paths import ROOT

DATA = ROOT.parent / "shared" / "data" / "tau2-retail"
ORDER_ID_PATTERN = r"#W[0-9]{7}"
_STATUS = {"pending": "processing", "processed": "shipped", "delivered": "delivered", "cancelled": "cancelled"}
_LOOK_UPS = ("get_", "find_", "list_")
_WRITES = {
    "cancel_pending_order",
    "modify_pending_order_address",
    "modify_user_address",
    "return_delivered_order_items",
}
IN_SCOPE = _WRITES | {"calculate", "transfer_to_human_agents"}


@dataclass(frozen=True)
class Task:
    """One task: its customer and the actions a perfect agent would take, as (name, arguments)."""

    id: str
    customer: str
    actions: tuple[tuple[str, dict[str, Any]], ...]


@dataclass
class Shop:
    """The benchmark's database in the sandbox's terms; lines are named by item, a second of the same item ``-2``."""

    orders: dict[str, dict[str, Any]]
    customers: dict[str, dict[str, Any]]
    labels: dict[str, list[list[str]]] = field(default_factory=dict)

    def copy(self) -> "Shop":
        return copy.deepcopy(self)

    def orders_of(self, customer: str) -> list[str]:
        return [order_id for order_id, order in self.orders.items() if order["customer_id"] == customer]

    def lines_of(self, order_id: str, items: list[str]) -> list[str]:
        """The order's lines that these items are, each line once."""
        left = [line["line_id"] for line in self.orders[order_id]["lines"]]
        found = []
        for item in items:
            line = next(line for line in left if line.partition("-")[0] == item)
            left.remove(line)
            found.append(line)
        return sorted(found)

    def apply(self, task: Task) -> None:
        """Do the task's writes to this copy: what the real store must look like afterwards."""
        for name, args in task.actions:
            match name:
                case "cancel_pending_order":
                    self.orders[args["order_id"]]["status"] = "cancelled"
                case "modify_pending_order_address":
                    self.orders[args["order_id"]]["address"] = address(args)
                case "modify_user_address":
                    self.customers[args["user_id"]]["address"] = address(args)
                case "return_delivered_order_items":
                    lines = self.lines_of(args["order_id"], args["item_ids"])
                    self.labels.setdefault(args["order_id"], []).append(lines)


def address(raw: dict[str, str]) -> dict[str, str]:
    names = {"line1": "address1", "line2": "address2", "city": "city", "region": "state", "postal_code": "zip"}
    return {ours: raw[theirs] for ours, theirs in names.items() if raw[theirs]} | {"country": raw["country"]}


def load_shop(placed_at: str, delivered_at: str) -> Shop:
    """The whole database; it knows no dates, so all orders get these."""
    raw = json.loads((DATA / "db.json").read_text(encoding="utf-8"))
    orders = {order_id: _order(order, placed_at, delivered_at) for order_id, order in raw["orders"].items()}
    return Shop(orders, {user_id: _customer(user) for user_id, user in raw["users"].items()})


def _order(raw: dict[str, Any], placed_at: str, delivered_at: str) -> dict[str, Any]:
    status = _STATUS[raw["status"]]
    seen: dict[str, int] = {}
    lines = []
    for item in raw["items"]:
        seen[item["item_id"]] = nth = seen.get(item["item_id"], 0) + 1
        line_id = item["item_id"] if nth == 1 else f"{item['item_id']}-{nth}"
        lines.append({"line_id": line_id, "title": item["name"], "quantity": 1, "paid": f"{item['price']:.2f}"})
    return {
        "customer_id": raw["user_id"],
        "status": status,
        "currency": "USD",
        "placed_at": placed_at,
        "delivered_at": delivered_at if status == "delivered" else None,
        "address": address(raw["address"]),
        "lines": lines,
    }


def _customer(raw: dict[str, Any]) -> dict[str, Any]:
    name = f"{raw['name']['first_name']} {raw['name']['last_name']}"
    return {"name": name, "email": raw["email"], "tier": "standard", "lifetime_value": "0.00", "fraud_score": 0.0,
            "open_tickets": [], "address": address(raw["address"])}  # fmt: skip


def load_tasks(shop: Shop) -> tuple[Task, ...]:
    """The tasks in scope: every gold action is a look-up, arithmetic, one of our writes, or a transfer to a person."""
    tasks = []
    for raw in json.loads((DATA / "tasks.json").read_text(encoding="utf-8")):
        actions = tuple((a["name"], a["arguments"]) for a in raw["evaluation_criteria"].get("actions") or ())
        if all(name in IN_SCOPE or name.startswith(_LOOK_UPS) for name, _ in actions):
            tasks.append(Task(raw["id"], _customer_of(raw, actions, shop), actions))
    return tuple(tasks)


def _customer_of(raw: dict[str, Any], actions: tuple[tuple[str, dict[str, Any]], ...], shop: Shop) -> str:
    """Who logs in: whom the actions name, else whom the scenario introduces."""
    for _, args in actions:
        if "user_id" in args:
            return str(args["user_id"])
        if args.get("order_id") in shop.orders:
            return str(shop.orders[args["order_id"]]["customer_id"])
        for user_id, user in shop.customers.items():
            named = user["name"] == f"{args.get('first_name')} {args.get('last_name')}"
            if user["email"] == args.get("email") or (named and user["address"]["postal_code"] == args.get("zip")):
                return user_id
    told = str(raw["user_scenario"])
    return next(user_id for user_id, user in shop.customers.items() if user_id in told or user["name"] in told)


def rounds(tasks: tuple[Task, ...]) -> list[list[Task]]:
    """Split the tasks so that no customer comes twice in one round: each starts from the untouched shop."""
    found: list[list[Task]] = []
    for task in tasks:
        for round_ in found:
            if all(other.customer != task.customer for other in round_):
                round_.append(task)
                break
        else:
            found.append([task])
    return found
