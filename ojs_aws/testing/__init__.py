"""Runs jobs in tests: without a server, by an explicit clock, with assertions that explain.

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
    from ojs_aws.testing.chain_trace import EnqueueTrace as EnqueueTrace
    from ojs_aws.testing.chain_trace import ExecutionTrace as ExecutionTrace
    from ojs_aws.testing.chain_trace import LayerRecord as LayerRecord
    from ojs_aws.testing.drain import DrainError as DrainError
    from ojs_aws.testing.drain import DrainReport as DrainReport
    from ojs_aws.testing.executions import Execution as Execution
    from ojs_aws.testing.jobs import Captured as Captured
    from ojs_aws.testing.jobs import EnqueuedJob as EnqueuedJob
    from ojs_aws.testing.middleware import run_enqueue as run_enqueue
    from ojs_aws.testing.middleware import run_enqueue_sync as run_enqueue_sync
    from ojs_aws.testing.middleware import run_execution as run_execution
    from ojs_aws.testing.middleware import run_execution_sync as run_execution_sync
    from ojs_aws.testing.ojs import Ojs as Ojs
    from ojs_aws.testing.outcome_assertions import StartedWorkflow as StartedWorkflow
    from ojs_aws.testing.perform import Performed as Performed
    from ojs_aws.testing.perform import Reported as Reported
    from ojs_aws.testing.server import OjsServer as OjsServer
    from ojs_aws.testing.server import ServerError as ServerError
else:
    __getattr__, __dir__ = lazy_exports(
        __name__, renamed={"EnqueueOnion": "EnqueueTrace", "ExecutionOnion": "ExecutionTrace"}
    )
