"""Writes the event contract (AsyncAPI 3.0, JSON and HTML) from the code.

``python -m common.asyncapi docs/contracts``
"""

import html
import json
import sys
from pathlib import Path
from typing import Any

from common import events, topics
from common.events.model import Event
from common.topics import Topic

# What each topic carries; a topic without a model here fails the contract's test.
CARRIES: dict[Topic, type[Event]] = {
    topics.CHANNEL_INBOUND: events.InboundMessage,
    topics.MESSAGES: events.CustomerMessage,
    topics.WORK_FIXED: events.WorkItem,
    topics.WORK_RAG: events.WorkItem,
    topics.WORK_AGENT: events.WorkItem,
    topics.WORK_HUMAN: events.WorkItem,
    topics.REPLIES: events.ReplyEvent,
    topics.HANDOFFS: events.HandoffOpened,
    topics.APPROVALS_REQUESTED: events.ApprovalRequested,
    topics.APPROVALS_DECIDED: events.ApprovalDecided,
    topics.LEDGER_ACTIONS: events.ActionChanged,
    topics.ACCOUNTS_CHANGED: events.AccountChanged,
}
_HEADERS = {
    "type": "object",
    "description": "Optional from outside programs: an absent event_id is derived from topic, key and message id.",
    "properties": {
        "event_id": {"type": "string", "description": "Names the event; a repeat is ignored."},
        "occurred_at": {"type": "string", "format": "date-time"},
        "traceparent": {"type": "string", "description": "W3C trace context."},
        "tracestate": {"type": "string", "description": "Handed on unchanged beside traceparent."},
    },
}
_DLQ = (
    "Takes what a consumer group could not: the original key, value and headers, with dlq.error, dlq.group, "
    "dlq.source, dlq.attempts and dlq.at added. A null value stays null. "
    "Put back with `python -m common.dlq replay <topic>`."
)


def document() -> dict[str, Any]:
    """Return the AsyncAPI document of every topic."""
    models = {model.__name__: model for model in CARRIES.values()}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Trusted Till events",
            "version": "1",
            "description": "Versioned by topic suffix; unknown fields are ignored; keys order records.",
        },
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic) for topic in topics.ALL},
        "operations": dict(_operations()),
        "components": {
            "messages": {name: _message(model) for name, model in models.items()},
            "schemas": {name: _schema(model) for name, model in models.items()},
        },
    }


def _channel(topic: Topic) -> dict[str, Any]:
    name = CARRIES[topic].__name__
    return {
        "address": topic.name,
        "description": f"Key: {topic.key}. Kept {topic.retention_h} h, {topic.partitions} partitions. {_DLQ}",
        "messages": {name: {"$ref": f"#/components/messages/{name}"}},
    }


def _operations() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for topic in topics.ALL:
        channel = {"$ref": f"#/channels/{topic.name.replace('/', '~1')}"}
        for action, who in (("send", topic.writers), ("receive", topic.readers)):
            found += [
                (f"{one}.{action}.{topic.name}", {"action": action, "channel": channel, "title": one}) for one in who
            ]
    return found


def _message(model: type[Event]) -> dict[str, Any]:
    return {
        "name": model.__name__,
        "summary": (model.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " "),
        "headers": _HEADERS,
        "payload": {"$ref": f"#/components/schemas/{model.__name__}"},
    }


def _schema(model: type[Event]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True)
    # Nested models live inside their message's schema, so that each stands alone.
    text = json.dumps(schema).replace("#/$defs/", f"#/components/schemas/{model.__name__}/$defs/")
    whole: dict[str, Any] = json.loads(text)
    return whole


def page() -> str:
    """Return the contract as a page people can read."""
    rows = "".join(
        f"<tr><td><a href='#{topic.name}'><code>{topic.name}</code></a></td><td>{', '.join(topic.writers)}</td>"
        f"<td>{', '.join(topic.readers)}</td><td>{topic.key}</td><td>{topic.retention_h} h</td></tr>"
        for topic in topics.ALL
    )
    sections = "".join(
        f"<h2 id='{topic.name}'><code>{topic.name}</code></h2><p>{html.escape(_message(CARRIES[topic])['summary'])}</p>"
        f"<pre>{html.escape(json.dumps(_schema(CARRIES[topic]), indent=2, ensure_ascii=False))}</pre>"
        for topic in topics.ALL
    )
    return _PAGE.format(rows=rows, dlq=html.escape(_DLQ), sections=sections)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Trusted Till events</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1b2330}}
table{{border-collapse:collapse;width:100%}}td,th{{text-align:left;padding:.3rem .8rem .3rem 0;
border-bottom:1px solid #dbe1e8}}
pre{{background:#f3f5f8;padding:1rem;overflow:auto;font-size:13px;max-height:28rem}}</style></head><body>
<h1>Trusted Till events</h1>
<p>Generated from the code. JSON values, versioned by topic suffix, with the headers <code>event_id</code>,
<code>occurred_at</code> and <code>traceparent</code>; unknown fields are ignored.</p>
<table><thead><tr><th>topic</th><th>written by</th><th>read by</th><th>key</th><th>kept</th></tr></thead>
<tbody>{rows}</tbody></table>
<p>Each has a twin <code>&lt;topic&gt;.dlq</code>. {dlq}</p>
{sections}
</body></html>
"""


def main() -> None:
    """Write ``asyncapi.json`` and ``asyncapi.html`` into the folder given."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "asyncapi.json").write_text(json.dumps(document(), indent=2, ensure_ascii=False) + "\n")
    (folder / "asyncapi.html").write_text(page())


if __name__ == "__main__":
    main()
