"""Send the credentials of a client or worker: an API key, or a signature for AWS IAM."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias
from urllib.parse import urlsplit

from ojs_aws.domain.errors import BackendUnavailableError

API_KEY_VARIABLE: Final = "OJS_API_KEY"

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


Signer: TypeAlias = Callable[[str, str, Mapping[str, str], bytes], Mapping[str, str]]
"""Gives the headers of a signature for a method, a URL, headers and a body."""


class Credentials(Protocol):
    """Makes the headers that authenticate a request."""

    async def headers_for(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, str]:
        """Return the headers to add.

        :param url: exactly as it is sent, with its query.
        :param headers: what is sent otherwise.
        """


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Sends a key of ``ojs-aws keys``, or a token, as ``Authorization: Bearer``.

    :ivar text: of the key; never part of this object's own text.
    """

    text: str = field(repr=False)

    async def headers_for(
        self,
        _method: str,
        _url: str,
        _headers: Mapping[str, str],
        _body: bytes,
    ) -> Mapping[str, str]:
        """Return the same for each request."""
        return {"Authorization": f"Bearer {self.text}"}


class SigV4:
    """Signs requests with AWS credentials, for an API whose access is by IAM.

    :param region: of the API; default: the environment's.
    :param profile: of the AWS configuration; default: the usual search for credentials.
    """

    def __init__(self, region: str | None = None, profile: str | None = None) -> None:
        """Keep where to look for credentials; they are read with the first request."""
        self._region, self._profile = region, profile
        self._signer: Signer | None = None

    async def headers_for(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, str]:
        """Return the signature of one request; credentials that soon expire are renewed.

        :raises ValueError: there are no AWS credentials, or no region.
        :raises BackendUnavailableError: the credentials cannot be read now.
        """
        # Renewing may ask the network, which must not hold up the event loop.
        return await asyncio.to_thread(self._sign, method, url, headers, body)

    def _sign(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, str]:
        from botocore.exceptions import BotoCoreError, ClientError  # only where requests are signed

        try:
            if self._signer is None:
                self._signer = BotocoreSigner(self._region, self._profile)
            return self._signer(method, url, headers, body)
        except (BotoCoreError, ClientError) as problem:
            text = f"The AWS credentials cannot be read: {problem}"
            raise BackendUnavailableError(text) from problem


def chosen_credentials(
    url: str,
    headers: Mapping[str, str] | None,
    api_key: str | None,
    credentials: Credentials | None,
) -> Credentials | None:
    """Return the credentials for a server: those given, else ``OJS_API_KEY``, else none.

    A header ``Authorization`` that was given by hand outweighs the environment.

    :raises ValueError: more than one was given, a key has characters that no header can carry, or
        it would go over plain HTTP to another machine. The message does not show the key.
    """
    by_hand = any(name.lower() == "authorization" for name in headers or {})
    if (api_key is not None) + (credentials is not None) + by_hand > 1:
        raise ValueError("give one of api_key, credentials and an Authorization header")
    if by_hand or credentials is not None:
        return credentials
    key = (os.environ.get(API_KEY_VARIABLE, "") if api_key is None else api_key).strip()
    if not key:
        return None
    if not (key.isascii() and key.isprintable()):
        raise ValueError(
            "The API key has characters that no key has, such as a line break: see where it comes "
            f"from, {API_KEY_VARIABLE} or an option"
        )
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError(f"an API key is not sent over plain HTTP to {parts.hostname}: use https")
    return ApiKey(key)


def without_password(url: str) -> str:
    """Return a URL without the user and password before its host, to be shown."""
    return re.sub("//[^/]*@", "//", url, count=1)


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
        import botocore.session  # only where requests are signed

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
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        signed = {name: value for name, value in headers.items() if name.lower() in _SIGNED}
        request = AWSRequest(method=method, url=url, data=body, headers=signed)
        frozen = self._credentials.get_frozen_credentials()
        SigV4Auth(frozen, _service_of(url), self._region).add_auth(request)
        made = {"Authorization", "X-Amz-Date", "X-Amz-Security-Token"}
        return {name: value for name, value in request.headers.items() if name in made}


def _service_of(url: str) -> str:
    """Return the service that signatures for a URL name."""
    return URL_SERVICE if _URL_HOST in (urlsplit(url).hostname or "") else SERVICE
