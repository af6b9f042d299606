"""Export and erasure of one customer's data: what the services' ``privacy`` commands and the one for Kafka share.

A service says what it holds (``Holdings``); the command line, the order of an erasure and its record are the same for
all. docs/decisions/0010 tells what goes, what stays, and why.
"""

from common.privacy.subject import Subject

__all__ = ["Subject"]
