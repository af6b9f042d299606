#!/usr/bin/env bash
# Makes .venv from requirements.lock, on a machine that has a Python and nothing else. A second run ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."
cache="${XDG_CACHE_HOME:-$HOME/.cache}/trusted-till"
uv_version=0.13.9
mkdir -p "$cache" .run
exec 9>.run/setup.lock
flock 9 2>/dev/null || true # where there is no flock, two setups at once are the caller's care

# uv doesn't read pip's settings; who told pip where packages come from meant uv too.
[[ -z "${PIP_INDEX_URL:-}" ]] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"
[[ -z "${PIP_FIND_LINKS:-}" ]] || export UV_FIND_LINKS="${UV_FIND_LINKS:-$PIP_FIND_LINKS}"
[[ -z "${PIP_CERT:-}" ]] || export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"

say() { echo "· $*" >&2; }
fail() { echo "setup: $*" >&2; exit 1; }

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; }
find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 \
    "$HOME"/.pyenv/versions/3.1[123].*/bin/python /opt/python/3.1[123]*/bin/python3; do
    if fits "$candidate"; then command -v "$candidate"; return; fi
  done
  fail "no Python 3.11, 3.12 or 3.13 found (python3 is $(python3 --version 2>&1)).
Install one (Debian: apt install python3.11 python3.11-venv; or pyenv install 3.13), or set PYTHON=/path/to/python."
}

find_uv() {
  if uv --version >/dev/null 2>&1; then command -v uv; return; fi
  if ! "$cache/uv/bin/uv" --version >/dev/null 2>&1; then
    say "fetching uv $uv_version (once on this machine)"
    rm -rf "$cache/uv"
    "$python" -m venv "$cache/uv" >&2 ||
      fail "this Python can't make virtual environments. Install its venv module (Debian: apt install python3-venv)."
    "$cache/uv/bin/python" -m pip install -q --disable-pip-version-check "uv==$uv_version" >&2 ||
      fail "could not fetch uv. Check the network and pip's settings, or install uv yourself."
  fi
  echo "$cache/uv/bin/uv"
}

members=(libs/* services/* sandbox stack)
wanted="$(cat requirements.lock pyproject.toml "${members[@]/%//pyproject.toml}" stack/setup.sh | sha256sum | cut -c1-32)"
if [[ -x .venv/bin/python && "$(cat .venv/.made-from 2>/dev/null)" == "$wanted" ]]; then exit 0; fi

python="$(find_python)"
uv="$(find_uv)"
if ! fits .venv/bin/python; then
  say "making .venv with $("$python" --version)"
  "$uv" venv -q --clear --python "$python" .venv
fi
say "installing packages from requirements.lock"
export VIRTUAL_ENV="$PWD/.venv"
"$uv" pip sync -q --compile-bytecode --require-hashes requirements.lock
# The lock holds what our packages need, so they are installed without looking for more.
"$uv" pip install -q --no-deps "${members[@]/#/--editable=}"
echo "$wanted" >.venv/.made-from
say "ready: .venv with $(.venv/bin/python --version)"
