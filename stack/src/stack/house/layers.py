"""Who may import whom, who may subscribe, who may read the environment."""

import ast
from pathlib import Path

from stack.house.source import Source, dotted, imports, sources

# Programs beside the product: nothing that runs in production may lean on them.
_BESIDE = ("sandbox", "stack", "evals", "tests")
_MAY_READ_ENVIRONMENT = ("settings", "app", "__main__")
# The kernel's own doors to the environment, each named with its reason.
_KERNEL_DOORS = {
    ("common", "telemetry"),  # OpenTelemetry's own standard variables
    ("common", "crash"),  # development only: arms crash points
    ("common", "settings"),
}


def services_meet_only_in_common(root: Path) -> list[str]:
    """Services never import each other, and `common` imports no service."""
    all_sources = list(sources(root))
    services = {source.package for source in all_sources if source.home == "services"}
    return [
        f"{source.at(node)}: {source.package} imports {name}"
        for source in all_sources
        if source.home in ("services", "libs")
        for node, name in imports(source)
        if name.split(".")[0] in services - {source.package}
    ]


def production_leans_on_nothing_beside_it(root: Path) -> list[str]:
    """Services and libraries import neither the sandbox nor the stack, the evals or tests."""
    return [
        f"{source.at(node)}: {source.package} imports {name}"
        for source in sources(root)
        if source.home in ("services", "libs")
        for node, name in imports(source)
        if name.split(".")[0] in _BESIDE
    ]


def subscribers_are_made_by_the_consumer(root: Path) -> list[str]:
    """Only `common.consumer` subscribes: it alone sets the ack policy, the retries and the dead letter (R9)."""
    findings = []
    for source in sources(root):
        if source.home in ("services", "libs") and source.parts != ("common", "consumer"):
            findings += [
                f"{source.at(node)}: imports {name}; subscribe through common.consumer"
                for node, name in imports(source)
                if name.split(".")[0] == "faststream"
            ]
            findings += [f"{source.at(call)}: makes a subscriber of its own" for call in _subscriptions(source)]
    return findings


def _subscriptions(source: Source) -> list[ast.Call]:
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "subscriber"]


def only_settings_read_the_environment(root: Path) -> list[str]:
    """`os.environ` belongs to settings.py, app.py and commands, so that a service's knobs stand in one place."""
    return [
        f"{source.at(node)}: reads the environment"
        for source in sources(root)
        if source.home in ("services", "libs", "sandbox") and not _may_read(source)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute | ast.Name)
        and dotted(node) in ("os.environ", "os.environb", "os.getenv", "environ", "getenv")
    ]


def _may_read(source: Source) -> bool:
    # A command (`python -m toolgateway.switch`) is a composition root of its own.
    is_command = 'if __name__ == "__main__":' in source.text
    return is_command or source.parts[-1] in _MAY_READ_ENVIRONMENT or source.parts in _KERNEL_DOORS
