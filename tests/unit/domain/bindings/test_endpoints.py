"""Which URLs somebody may register below the prefixes of a stack."""

from __future__ import annotations

import pytest

from ojs_aws.domain.bindings.endpoints import LONGEST_URL, check_endpoint, check_prefix

PREFIX = "https://app.example.com/jobs/"
PREFIXES = [PREFIX, "https://crm.example.com:8443/"]


@pytest.mark.parametrize(
    "url",
    [
        PREFIX,
        PREFIX + "email?tenant=a/../b",
        PREFIX + "a..b/.c/d.e",
        "https://crm.example.com:8443/x",
        PREFIX + "a" * (LONGEST_URL - len(PREFIX)),
    ],
)
def test_a_url_below_a_prefix_is_allowed(url: str) -> None:
    """With any query."""
    check_endpoint(url, PREFIXES)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "app.example.com/jobs/x",
        "http://app.example.com/jobs/x",
        "HTTPS://app.example.com/jobs/x",
        "https://app.example.com/job",
        "https://app.example.com/jobs",
        "https://app.example.com:444/jobs/x",
        "https://app.example.com:/jobs/x",
        "https://app.example.com.evil.example/jobs/x",
        "https://evil.example/https://app.example.com/jobs/",
        "https://user@app.example.com/jobs/x",
        "https://app.example.com@evil.example/jobs/x",
        "https://app.example.com\\@evil.example/jobs/x",
        "https://APP.example.com/jobs/x",
        "https://app.example.com./jobs/x",
        PREFIX + "../admin",
        PREFIX + "..",
        PREFIX + "./x",
        PREFIX + "%2e%2e/admin",
        PREFIX + "%2E./admin",
        PREFIX + "..%2fadmin",
        PREFIX + "..%5Cadmin",
        PREFIX + "a%00",
        PREFIX + "/x",
        PREFIX + "a b",
        PREFIX + "a\n",
        PREFIX + "é",
        PREFIX + "#x",
        PREFIX + "a" * (LONGEST_URL - len(PREFIX) + 1),
    ],
)
def test_a_url_that_is_elsewhere_or_ambiguous_is_refused(url: str) -> None:
    """Also one that some servers read in another way than we do."""
    with pytest.raises(ValueError, match=r"endpoint|The stack allows"):
        check_endpoint(url, PREFIXES)


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "localhost", "[::1]", "a.1"])
def test_an_address_is_no_host(host: str) -> None:
    """Nor a name without a domain: neither may be registered, and neither is a prefix."""
    with pytest.raises(ValueError, match="host"):
        check_prefix(f"https://{host}/jobs/")


@pytest.mark.parametrize("host", ["app.example.com:", "app.example.com:8o", "user@app.example.com"])
def test_a_prefix_has_a_host_and_perhaps_a_port(host: str) -> None:
    """Nothing else: a port is a number."""
    with pytest.raises(ValueError, match="host in lower case"):
        check_prefix(f"https://{host}/jobs/")


@pytest.mark.parametrize("prefix", ["https://app.example.com", PREFIX[:-1], PREFIX + "?a=/"])
def test_a_prefix_ends_with_a_slash(prefix: str) -> None:
    """Else https://app.example.com would allow https://app.example.com.evil.example."""
    with pytest.raises(ValueError, match="end with a slash"):
        check_prefix(prefix)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_host_with_a_path_is_a_prefix(prefix: str) -> None:
    """The port belongs to it."""
    check_prefix(prefix)
