"""Removes with the stack what its template cannot: the removal function.

Invoked by CloudFormation, as a custom resource; deployed only where data goes with the stack.
"""

from __future__ import annotations

import os
from typing import Final

from ..startup import finish_init

from ojs_aws.adapters.removal import QueuesOfFirstUse, RemovableBuckets
from ojs_aws.bootstrap import aws_clients
from ojs_aws.config import Settings
from ojs_aws.services.upkeep.removal import Removal
from ojs_aws.transport.events.removal import Handler, build_removal, put_answer

clients, settings = aws_clients(), Settings.from_env(os.environ)
queues = QueuesOfFirstUse(clients.sqs, settings.queue_prefix)
handler: Final[Handler] = finish_init(
    build_removal(Removal(RemovableBuckets(clients.s3()), queues.delete), put_answer)
)
