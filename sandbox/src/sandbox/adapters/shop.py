"""Customers, orders, labels and mail: what stands in the store's own systems now."""

import json
from typing import Any, Literal

from common.ids import new_id
from sandbox.adapters.database import Database, dump

Record = dict[str, Any]


class Shop:
    """Plain reads and writes; every change of an order raises its ``version``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save_customer(self, customer_id: str, body: Record) -> Record:
        """Create or replace a customer."""
        self._database.run("insert or replace into customers (id, body) values (?, ?)", customer_id, dump(body))
        return {"customer_id": customer_id, **body}

    def load_customer(self, customer_id: str) -> Record | None:
        """Return a customer, or None."""
        row = self._database.row("select * from customers where id = ?", customer_id)
        return None if row is None else {"customer_id": row["id"], **json.loads(row["body"])}

    def find_customers(self, field: Literal["phone", "email"], value: str) -> list[Record]:
        """Return the customers with exactly this phone, or this email in any case."""
        matching = {
            "phone": "select * from customers where json_extract(body, '$.phone') = ?",
            "email": "select * from customers where json_extract(body, '$.email') = ? collate nocase",
        }
        found = self._database.rows(matching[field], value)
        return [{"customer_id": row["id"], **json.loads(row["body"])} for row in found]

    def save_order(self, order_id: str, body: Record) -> Record:
        """Create or replace an order as the shop's staff would; its version goes on rising."""
        row = self._database.row("select version from orders where id = ?", order_id)
        version = 1 if row is None else row["version"] + 1
        self._database.run(
            "insert or replace into orders (id, customer_id, currency, body, version) values (?, ?, ?, ?, ?)",
            order_id, body["customer_id"], body["currency"], dump(body), version,
        )  # fmt: skip
        return {"order_id": order_id, **body, "version": version}

    def load_order(self, order_id: str) -> Record | None:
        """Return an order, or None."""
        row = self._database.row("select * from orders where id = ?", order_id)
        return None if row is None else {"order_id": row["id"], **json.loads(row["body"]), "version": row["version"]}

    def change_order(self, order_id: str, **changes: object) -> Record:
        """Set members of an existing order and raise its version."""
        standing = self.load_order(order_id)
        if standing is None:
            raise KeyError(order_id)
        body = {name: value for name, value in standing.items() if name not in {"order_id", "version"}}
        return self.save_order(order_id, {**body, **changes})

    def list_orders(self, customer_id: str) -> list[Record]:
        """Return a customer's orders, newest placed first."""
        found = self._database.rows(
            "select * from orders where customer_id = ? order by json_extract(body, '$.placed_at') desc, id desc",
            customer_id,
        )
        return [{"order_id": row["id"], **json.loads(row["body"]), "version": row["version"]} for row in found]

    def save_label(self, order_id: str, body: Record) -> Record:
        """Add a return label to an order."""
        label_id = new_id("label")
        self._database.run(
            "insert into labels (label_id, order_id, body) values (?, ?, ?)", label_id, order_id, dump(body)
        )
        return {"label_id": label_id, "order_id": order_id, **body}

    def list_labels(self, order_id: str | None) -> list[Record]:
        """Return the labels of one order, or all of them, oldest first."""
        found = self._database.rows(
            "select * from labels where ? is null or order_id = ? order by label_id", order_id, order_id
        )
        return [{"label_id": row["label_id"], "order_id": row["order_id"], **json.loads(row["body"])} for row in found]

    def send_mail(self, message: Record, key: str | None = None) -> None:
        """Keep a message as sent; one that comes again under the same key is the same message."""
        with self._database.transaction():
            if key is not None:
                if self._database.row("select 1 from mail_keys where key = ?", key) is not None:
                    return
                self._database.run("insert into mail_keys (key) values (?)", key)
            self._database.run("insert into mail (recipient, body) values (?, ?)", message["to"], dump(message))

    def list_mail(self, recipient: str | None) -> list[Record]:
        """Return the messages to one address, or all of them, oldest first."""
        found = self._database.rows(
            "select body from mail where ? is null or recipient = ? order by seq", recipient, recipient
        )
        return [json.loads(row["body"]) for row in found]
