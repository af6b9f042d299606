"""What a measurement says, as it goes and kept for the file."""


class Report:
    """Prints as it goes and keeps the lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str = "") -> None:
        """Add one line."""
        self.lines.append(line)
        print(line, flush=True)
