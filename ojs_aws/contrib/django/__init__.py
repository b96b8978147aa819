"""Use ojs-aws in a Django project: put ``"ojs_aws.contrib.django"`` into ``INSTALLED_APPS``.

Example::

    with transaction.atomic():
        user = User.objects.create(email=email)
        enqueue_after_commit(send_welcome.call(user.pk))
"""

from __future__ import annotations

from ojs_aws.contrib.django.commits import enqueue_after_commit, enqueue_many_after_commit
from ojs_aws.contrib.request_meta import request_meta

__all__ = ["enqueue_after_commit", "enqueue_many_after_commit", "request_meta"]
