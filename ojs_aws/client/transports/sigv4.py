"""Sign requests by Signature version 4 of AWS, with botocore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

SERVICE: Final = "execute-api"
URL_SERVICE: Final = "lambda"
"""The service that a signature names: API Gateway's, and that of a function URL."""

_URL_HOST: Final = ".lambda-url."

_SIGNED: Final = frozenset({"content-type", "host"})
"""Headers that are part of the signature; a proxy may change the others."""


class BotocoreSigner:
    """Signs requests to API Gateway, and to function URLs."""

    def __init__(self, region: str | None, profile: str | None) -> None:
        """Find credentials and region.

        :raises ValueError: there are none.
        """
        session = botocore.session.Session(profile=profile)
        credentials = session.get_credentials()
        if credentials is None:
            raise ValueError("there are no AWS credentials to sign requests with")
        found = region or session.get_config_variable("region")
        if not found:
            raise ValueError("the region of the API is not known: SigV4(region=...)")
        self._credentials, self._region = credentials, str(found)

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, str]:
        """Return the headers of the signature."""
        signed = {name: value for name, value in headers.items() if name.lower() in _SIGNED}
        request = AWSRequest(method=method, url=url, data=body, headers=signed)
        frozen = self._credentials.get_frozen_credentials()
        SigV4Auth(frozen, _service_of(url), self._region).add_auth(request)
        made = {"Authorization", "X-Amz-Date", "X-Amz-Security-Token"}
        return {name: value for name, value in request.headers.items() if name in made}


def _service_of(url: str) -> str:
    """Return the service that signatures for a URL name."""
    return URL_SERVICE if _URL_HOST in (urlsplit(url).hostname or "") else SERVICE
