"""Two small SVG pictures for the model card, drawn by hand so that the same figures give the same bytes."""

from collections.abc import Mapping, Sequence

from router.train.metrics import Bin

_SIZE, _EDGE = 320, 36
_STYLE = 'font-family="sans-serif" font-size="11" fill="#333"'


def reliability_svg(bins: Sequence[Bin], title: str) -> str:
    """Draw accuracy over confidence; the diagonal is perfect calibration, a bar's darkness its share of messages."""
    most = max(b.count for b in bins) or 1
    width = (_SIZE - 2 * _EDGE) / len(bins)
    bars = [
        f'<rect x="{_EDGE + i * width:.1f}" y="{_y(b.accuracy):.1f}" width="{width - 1:.1f}" '
        f'height="{_y(0) - _y(b.accuracy):.1f}" fill="#2a6f97" fill-opacity="{0.25 + 0.75 * b.count / most:.2f}"/>'
        for i, b in enumerate(bins)
        if b.count
    ]
    diagonal = f'<line x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}" stroke="#c1121f" stroke-dasharray="4 3"/>'
    return _frame(title, "confidence", "accuracy", [*bars, diagonal])


def curves_svg(lines: Mapping[str, Sequence[tuple[float, float]]], marks: Sequence[float], title: str) -> str:
    """Draw named curves of a rate over the threshold; ``marks`` are the thresholds in use."""
    colours = ("#2a6f97", "#c1121f", "#588157", "#7f4f24")
    shapes = [
        f'<line x1="{_x(m):.1f}" y1="{_y(0)}" x2="{_x(m):.1f}" y2="{_y(1)}" stroke="#999" stroke-dasharray="2 3"/>'
        for m in marks
    ]
    for colour, (number, (name, points)) in zip(colours, enumerate(lines.items()), strict=False):
        path = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
        shapes.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        shapes.append(
            f'<text x="{_EDGE + 6}" y="{_SIZE - _EDGE - 44 + 13 * number}" {_STYLE.replace("#333", colour)}>'
            f"{name}</text>"
        )
    return _frame(title, "threshold", "rate", shapes)


def _x(value: float) -> float:
    return _EDGE + value * (_SIZE - 2 * _EDGE)


def _y(value: float) -> float:
    return _SIZE - _EDGE - value * (_SIZE - 2 * _EDGE)


def _frame(title: str, below: str, beside: str, shapes: Sequence[str]) -> str:
    inside, middle = _SIZE - 2 * _EDGE, _SIZE / 2
    turned = f'transform="rotate(-90 12 {middle})"'
    ticks = [
        f'<text x="{_x(v):.0f}" y="{_SIZE - _EDGE + 14}" text-anchor="middle" {_STYLE}>{v:g}</text>'
        f'<text x="{_EDGE - 5}" y="{_y(v) + 4:.0f}" text-anchor="end" {_STYLE}>{v:g}</text>'
        for v in (0, 0.25, 0.5, 0.75, 1)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}" width="{_SIZE}" role="img">',
            f"<title>{title}</title>",
            f'<rect width="{_SIZE}" height="{_SIZE}" fill="#fff"/>',
            f'<rect x="{_x(0)}" y="{_y(1)}" width="{inside}" height="{inside}" fill="none" stroke="#bbb"/>',
            f'<text x="{_SIZE / 2}" y="20" text-anchor="middle" {_STYLE}>{title}</text>',
            f'<text x="{_SIZE / 2}" y="{_SIZE - 6}" text-anchor="middle" {_STYLE}>{below}</text>',
            f'<text x="12" y="{middle}" text-anchor="middle" {turned} {_STYLE}>{beside}</text>',
            *ticks,
            *shapes,
            "</svg>",
            "",
        ]
    )
