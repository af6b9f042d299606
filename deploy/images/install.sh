#!/usr/bin/env bash
# Makes a virtual environment with one service and nothing it doesn't need: install.sh SERVICE VENV TOOLS
# TOOLS is an environment with tools.lock. "migrations" stands for every package that owns a schema.
set -euo pipefail
cd "$(dirname "$0")/../.."
service="${1:?which service}" venv="${2:?where to}" tools="${3:?where the tools are}"
members=("services/$service")
[[ $service != migrations ]] || members=(services/gateway services/agent services/toolgateway services/approvals)
for member in "${members[@]}"; do
  [[ -f $member/pyproject.toml ]] || { echo "install: there is no $member" >&2; exit 1; }
done

wheels="$(mktemp -d)"
trap 'rm -rf "$wheels"' EXIT
# Built without isolation: build tools fetched for the occasion would be pinned by nobody.
"$tools/bin/python" -m pip wheel -q --no-deps --no-build-isolation -w "$wheels" ./libs/common "${members[@]/#/./}"
"$tools/bin/python" -m venv --without-pip "$venv"
# The lock as a constraint: it decides version and hash of whatever these packages need, and adds nothing.
"$tools/bin/uv" pip install -q --python "$venv/bin/python" --compile-bytecode --no-sources -c requirements.lock "$wheels"/*.whl

while read -r pin; do
  grep -qF "$pin " requirements.lock || { echo "install: $pin is not in requirements.lock" >&2; exit 1; }
done < <("$tools/bin/uv" pip freeze -q --python "$venv/bin/python" | grep -v '^till-')
