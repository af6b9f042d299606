"""The chat page: three files of our own, and headers that let the browser run nothing else."""

from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import Response

_FILES = {
    "/": ("index.html", "text/html"),
    "/chat.css": ("chat.css", "text/css"),
    "/chat.js": ("chat.js", "text/javascript"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}


def router() -> APIRouter:
    """Serve each file at its path."""
    api = APIRouter(include_in_schema=False)
    for path, (name, media) in _FILES.items():
        content = files("gateway").joinpath("static", name).read_bytes()
        api.add_api_route(path, _serve(content, media), methods=["GET"])
    return api


def _serve(content: bytes, media: str):  # type: ignore[no-untyped-def]
    async def page() -> Response:
        return Response(content, media_type=f"{media}; charset=utf-8", headers=_HEADERS)

    return page
