"""A WhatsApp adapter in one screen: turns a provider's webhook into ours, signs it, and repeats it until it is taken.

Run it with ``GATEWAY_URL`` and ``HOOK_SECRET`` set; it reads one provider message a line (JSON) from standard input:
``{"id": "wamid.1", "from": "15550100", "text": {"body": "Where is my order?"}, "timestamp": "1764500000"}``.
"""

import hashlib
import hmac
import json
import os
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

PATH = "/v1/inbound/whatsapp"


def translate(message: dict[str, Any]) -> bytes:
    """Return our webhook's body for a provider's message; its id stays, so that a retry is the same message."""
    body = {
        "message_id": message["id"],
        "from": "+" + message["from"].lstrip("+"),
        "text": message["text"]["body"],
        "sent_at": datetime.fromtimestamp(int(message["timestamp"]), UTC).isoformat(),
    }
    return json.dumps(body, ensure_ascii=False).encode()


def sign(secret: str, body: bytes, path: str = PATH) -> str:
    """Return the ``X-Hook-Signature`` of a body sent to this path."""
    return hmac.new(secret.encode(), path.encode() + b"\n" + body, hashlib.sha256).hexdigest()


def hand_over(gateway_url: str, secret: str, body: bytes, tries: int = 5) -> dict[str, Any]:
    """Send it until the gateway has it; repeating is harmless, since a message id is taken once."""
    headers = {"Content-Type": "application/json", "X-Hook-Signature": sign(secret, body)}
    request = urllib.request.Request(gateway_url + PATH, data=body, headers=headers)  # noqa: S310 - our own gateway
    for attempt in range(tries):
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
                taken: dict[str, Any] = json.load(answer)
                return taken
        except urllib.error.HTTPError as e:
            if e.code < 500 and e.code != 429:
                raise
        except urllib.error.URLError:
            pass
        time.sleep(2**attempt)
    raise SystemExit("the gateway did not take the message")


def main() -> None:
    """Hand over every line of standard input."""
    for line in sys.stdin:
        taken = hand_over(os.environ["GATEWAY_URL"], os.environ["HOOK_SECRET"], translate(json.loads(line)))
        sys.stdout.write(json.dumps(taken) + "\n")


if __name__ == "__main__":
    main()
