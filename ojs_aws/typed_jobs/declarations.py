"""Hold what is declared of one job: its type, its function, and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ojs_aws.client.retry_rules import ErrorClasses
from ojs_aws.domain.attributes import check_type
from ojs_aws.domain.envelope import DEFAULT_QUEUE, Job
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.jobs.versions import ANY
from ojs_aws.domain.json_text import Member, encode
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.typed_jobs.arguments import ArgumentDecoder, ArgumentEncoder, ArgumentTypes, codec_of
from ojs_aws.typed_jobs.clients import Clients
from ojs_aws.typed_jobs.options import JobOptions, check_values, with_places
from ojs_aws.typed_jobs.signature import JobSignature
from ojs_aws.typed_jobs.values import Codec, WrongValueError

RESULT: Final = "result"


@dataclass(frozen=True)
class JobDeclaration:
    """Describes one job, for those who send it and for the worker that runs it.

    :ivar options: of every job of the type, unless the sender says otherwise.
    :ivar versions: of jobs that the function takes.
    :ivar is_remote: a worker elsewhere runs it; the function is only its signature.
    :ivar clients: who sends it where no client is in use; asked at each call.
    """

    type: str
    signature: JobSignature
    options: JobOptions
    clients: Callable[[], Clients]
    versions: str = ANY
    is_remote: bool = False

    @property
    def function(self) -> Callable[..., Any]:
        """Return the function that was decorated."""
        return self.signature.function

    @property
    def queue(self) -> str:
        """Return the queue of the job's options."""
        return self.options.get("queue") or DEFAULT_QUEUE

    @property
    def retry_on(self) -> ErrorClasses | None:
        """Return the classes of the only errors that are retried; None for all."""
        classes: ErrorClasses | None = getattr(self.options.get("retry"), "retry_on", None)
        return classes

    def template(self, options: Mapping[str, Any]) -> Job:
        """Return a job of this type without arguments.

        :raises TypeError: a job has no such attribute, or it is of another type.
        :raises ValueError: a policy has a member that there is not.
        :raises InvalidRequestError: a value that a job cannot have.
        """
        if self.retry_on is not None and options.get("retry") is self.options.get("retry"):
            options = {**options, "retry": dict(options["retry"])}
        job = Job(self.type, (), **options)
        check_values(job, options)
        return job

    def check(self) -> None:
        """Resolve all types; a worker does so when it starts.

        :raises RegistrationError: a type is not defined, or JSON cannot carry it, or the context
            is not where it belongs.
        """
        _ = self.encoder, self.decoder, self.result

    @cached_property
    def _types(self) -> ArgumentTypes:
        self.signature.check_context()
        return ArgumentTypes(self.signature)

    @cached_property
    def encoder(self) -> ArgumentEncoder:
        """Return what writes the arguments for the wire."""
        return ArgumentEncoder(self.signature, self._types)

    @cached_property
    def decoder(self) -> ArgumentDecoder:
        """Return what reads the arguments from the wire."""
        return ArgumentDecoder(self._types)

    @cached_property
    def result(self) -> Codec:
        """Return the codec of what the function returns."""
        kind = self.signature.annotations.get("return", Any)
        return codec_of(kind, f"The result of {self.signature.name}")

    def decode_result(self, value: JsonValue) -> Any:
        """Return the result of a job as the function returned it.

        :raises WrongValueError: it does not have the declared type.
        """
        try:
            return self.result.decode(Member(encode(value), value), RESULT)
        except WrongValueError as wrong:
            raise WrongValueError(wrong.field, wrong.expected, self.type) from None


def declared(
    job_type: str,
    signature: JobSignature,
    options: JobOptions,
    clients: Callable[[], Clients],
    *,
    versions: str = ANY,
    is_remote: bool = False,
) -> JobDeclaration:
    """Return a declaration, checked as far as it can be before all types are known.

    :raises RegistrationError: no valid type, an option that only one job can have, or a value
        that a job cannot have, or a unique policy that names an argument that there is not.
    :raises TypeError: a job has no such attribute, or it is of another type.
    :raises ValueError: a policy has a member that there is not.
    """
    if "id" in options:
        raise RegistrationError(f"All jobs of {job_type!r} cannot have the same id.")
    options = with_places(options, signature, job_type)
    made = JobDeclaration(job_type, signature, options, clients, versions, is_remote)
    try:
        check_type(job_type)
        made.template(options)
        if is_remote and made.retry_on is not None:
            raise RegistrationError(f"The worker of {job_type!r} is elsewhere: so is retry_on.")
    except OjsError as problem:
        raise RegistrationError(f"The job {job_type!r}: {problem}") from problem
    return made
