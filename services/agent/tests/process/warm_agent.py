"""What a forked agent process begins with: everything imported and the help center indexed, nothing connected yet.

Starting Python, the SDKs and the index costs seconds of CPU each time; a kill suite starts processes by the dozen.
"""

import common.models.anthropic_wire
import common.models.openai_wire  # noqa: F401 - imported for the children
from agent import app
from agent.adapters.search_index import build_index

_INDEX = build_index()
app.build_index = lambda: _INDEX
