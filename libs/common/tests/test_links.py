"""BB-UNI-04: a host is compared as a name server knows it, and shown so."""

import pytest

from common.links import ascii_host, shown_link

ALLOW = ["example.com", "münchen.example"]
APPLE_IN_CYRILLIC = "\u0430\u0440\u0440\u04cf\u0435"


@pytest.mark.parametrize(
    "url",
    [
        "https://xn--80ak6aa92e.com/",
        f"https://{APPLE_IN_CYRILLIC}.com/",
        "https://example.com@evil.example/",
        "https://example.com:443@evil.example/",
        "https://example.com.evil.example/",
        "https://evilexample.com/",
        "https://ex\u0430mple.com/",
        "https://example.com\\@evil.example/",
        "https://evil.example\\.example.com/",
        "https://evil.example/#.example.com",
        "https://evil.example?.example.com",
        "https://example\uff0ecom.evil.example/",
        "https://example.com\n.evil.example/",
        "https://[example.com/",
        "https://example.com:99999/",
        "https:///example.com",
        "//example.com/",
        "javascript:alert('https://example.com/')",
        "data:text/html,https://example.com/",
        "",
    ],
)
def test_bb_uni_04_what_only_looks_like_an_allowed_host_is_no_link(url: str) -> None:
    assert shown_link(url, ALLOW) is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.com/", "https://example.com/"),
        ("https://track.example.com/p/1?n=2#top", "https://track.example.com/p/1?n=2#top"),
        ("http://example.com:8080/x", "http://example.com:8080/x"),
        ("https://EXAMPLE.com/A", "https://example.com/A"),
        ("https://example.com./x", "https://example.com/x"),
        # Full-width letters are the same name to a name server.
        ("https://\uff45xample.com/", "https://example.com/"),
        ("https://münchen.example/x", "https://xn--mnchen-3ya.example/x"),
        ("https://xn--mnchen-3ya.example/x", "https://xn--mnchen-3ya.example/x"),
    ],
)
def test_bb_uni_04_an_allowed_host_or_one_below_it_is_shown_in_ascii(url: str, shown: str) -> None:
    assert shown_link(url, ALLOW) == shown


def test_bb_uni_04_without_a_list_a_look_alike_is_shown_for_what_it_is() -> None:
    assert shown_link(f"https://{APPLE_IN_CYRILLIC}.com/") == "https://xn--80ak6aa92e.com/"
    assert shown_link("https://track.example/1?") == "https://track.example/1?", "an ordinary link stays as it is"


@pytest.mark.parametrize("host", ["", ".", "a..b", "x" * 64 + ".com", "exa mple.com", "\ud800.com", "-", "::1"])
def test_what_is_no_host_has_no_ascii_form(host: str) -> None:
    assert ascii_host(host) is None
