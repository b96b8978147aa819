"""Helps to test jobs: without a server, by an explicit clock, with assertions that explain.

Example::

    with Ojs.fake() as ojs:
        signup("a@b.c")
        ojs.assert_enqueued(send_email.call("a@b.c", ANY), queue="email")
        ojs.drain_sync()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws.testing.captures import Captured as Captured
    from ojs_aws.testing.drain import DrainError as DrainError
    from ojs_aws.testing.drain import DrainReport as DrainReport
    from ojs_aws.testing.executions import Execution as Execution
    from ojs_aws.testing.jobs import EnqueuedJob as EnqueuedJob
    from ojs_aws.testing.ojs import Ojs as Ojs
    from ojs_aws.testing.perform import Performed as Performed
    from ojs_aws.testing.perform import Reported as Reported
    from ojs_aws.testing.workflow_assertions import StartedWorkflow as StartedWorkflow
else:
    __getattr__, __dir__ = lazy_exports(__name__)
