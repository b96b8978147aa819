"""Send Celery's tasks as jobs, queue by queue, while Celery's workers run the others.

Example::

    app = BridgedCelery("shop", broker="sqs://")
    app.conf.ojs_queues = ["email"]

    worker = Worker(celery_jobs(app))
"""

from ojs_aws.contrib.celery.app import BridgedCelery
from ojs_aws.contrib.celery.calls import NotBridgedError
from ojs_aws.contrib.celery.execution import celery_jobs

__all__ = ["BridgedCelery", "NotBridgedError", "celery_jobs"]
