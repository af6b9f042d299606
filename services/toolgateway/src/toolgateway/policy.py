"""``python -m toolgateway.policy check|diff``: read, check and compare versions of the policy file."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from toolgateway.core.policy import Policy, Rollout

_FOLDER = Path(__file__).parent / "policies"
_SCHEMA = _FOLDER / "policy.schema.json"


class BadPolicy(Exception):  # noqa: N818 - names the file's state, as its readers say it
    """The file isn't a policy; the message names the place."""


def packaged_policy() -> Path:
    """Return the path of the version that ships with the code."""
    return _FOLDER / "current.yaml"


def load_policy(path: Path) -> Policy:
    """Return the policy in a YAML file, checked by its JSON schema and then by its own rules; raises BadPolicy."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        jsonschema.validate(raw, json.loads(_SCHEMA.read_text(encoding="utf-8")))
        return Policy.model_validate(raw)
    except jsonschema.ValidationError as e:
        raise BadPolicy(f"{path.name}: {'.'.join(str(p) for p in e.absolute_path) or 'file'}: {e.message}") from e
    except (yaml.YAMLError, ValueError) as e:
        raise BadPolicy(f"{path.name}: {e}") from e


def load_rollout(current: Path, candidate: Path | None, percent: int) -> Rollout:
    """Return the version in force and, where one is named, the next one for ``percent`` of customers."""
    now = load_policy(current)
    following = load_policy(candidate) if candidate else None
    if following is not None and following.version == now.version and following != now:
        raise BadPolicy("two different policies under one version")
    return Rollout(current=now, candidate=following, percent=percent)


def differences(old: Policy, new: Policy) -> list[str]:
    """Return one line for each value that differs, as ``path: old → new``."""
    before, after = _flat(old.model_dump(mode="json")), _flat(new.model_dump(mode="json"))
    return [
        f"{path}: {before.get(path, '(absent)')} → {after.get(path, '(absent)')}"
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ]


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {k: v for name, item in value.items() for k, v in _flat(item, f"{path}.{name}".lstrip(".")).items()}
    return {path: value}


def main(argv: list[str]) -> int:
    """Run ``check [file]``, ``diff old new`` or ``schema``; returns the exit code."""
    match argv:
        case ["check", *files]:
            paths = [Path(f) for f in files] or sorted(_FOLDER.glob("*.yaml"))
            for path in paths:
                print(f"{path.name}: policy {load_policy(path).version} holds")
        case ["diff", old, new]:
            before, after = load_policy(Path(old)), load_policy(Path(new))
            found = differences(before, after)
            print("\n".join(found) or "no difference")
            if found and before.version == after.version:
                print("the version must rise with a change", file=sys.stderr)
                return 1
        case ["schema"]:
            print(json.dumps(Policy.model_json_schema(), indent=2, sort_keys=True))
        case _:
            print("usage: python -m toolgateway.policy check [file…] | diff OLD NEW | schema", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BadPolicy as e:
        print(e, file=sys.stderr)
        sys.exit(1)
