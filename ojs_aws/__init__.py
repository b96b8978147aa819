"""Provides Open Job Spec on AWS primitives: a backend, its client, and its workers.

What people import lives here: `Jobs` declares jobs as typed functions, `Worker` and `LambdaWorker`
run them, and `current_job()` says which one runs. `Client` and `SyncClient` enqueue, also a `Job`
of any type. `RetryPolicy`, `UniquePolicy` and `RateLimit` are policies of a job. Errors are in
`ojs_aws.errors`.

Each name is imported when it is first asked for, so that a Lambda function which needs one of
them does not pay for the others at its cold start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws._version import __version__ as __version__
    from ojs_aws.client import Client as Client
    from ojs_aws.client import SyncClient as SyncClient
    from ojs_aws.client.policies import RateLimit as RateLimit
    from ojs_aws.client.policies import RetryPolicy as RetryPolicy
    from ojs_aws.client.policies import UniquePolicy as UniquePolicy
    from ojs_aws.domain.envelope import Job as Job
    from ojs_aws.domain.jobs.arguments import Priority as Priority
    from ojs_aws.middleware.context import JobContext as JobContext
    from ojs_aws.middleware.context import current_job as current_job
    from ojs_aws.middleware.synchronous import SyncJobContext as SyncJobContext
    from ojs_aws.typed_jobs.calls import Call as Call
    from ojs_aws.typed_jobs.calls import enqueue_many as enqueue_many
    from ojs_aws.typed_jobs.calls import enqueue_many_sync as enqueue_many_sync
    from ojs_aws.typed_jobs.handles import Handle as Handle
    from ojs_aws.typed_jobs.handles import SyncHandle as SyncHandle
    from ojs_aws.typed_jobs.jobs import Jobs as Jobs
    from ojs_aws.typed_jobs.workflows import chain as chain
    from ojs_aws.typed_jobs.workflows import group as group
    from ojs_aws.worker import LambdaWorker as LambdaWorker
    from ojs_aws.worker import Worker as Worker
    from ojs_aws.worker.secrets import secret as secret
else:
    __getattr__, __dir__ = lazy_exports(__name__)
