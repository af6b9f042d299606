#!/usr/bin/env bash
# Rewrites requirements.lock from the pyproject files. The lock names versions and hashes but no registry, so that
# whoever installs decides where packages come from; uv's own lock file names one and stays out of git.
set -euo pipefail
cd "$(dirname "$0")/.."
uv lock -q "$@"
uv export -q --frozen --all-packages --all-groups --no-emit-workspace --no-annotate --no-header \
  --format requirements-txt --output-file requirements.lock.new
if grep -nE '^-e |^--(extra-)?index|https?://' requirements.lock.new; then
  rm requirements.lock.new
  echo "lock: the lines above name a place, which a committed lock must not" >&2
  exit 1
fi
mv requirements.lock.new requirements.lock
