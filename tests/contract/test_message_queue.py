"""What every MessageQueue must do, as far as it does not depend on time."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.adapters.sqs import (
    MessageQueue,
    UnreadableMessageError,
    decode_message,
    encode_message,
)
from ojs_aws.config import Settings
from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.queues import Backlog, Message
from ojs_aws.local.aws import create_queues
from ojs_aws.memory_aws.calls import Calls
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.topology import dead_letter_queue_name, sqs_queue_name
from tests.aws import EmbeddedAws
from tests.simulation.channels import SimulatedSqs

QUEUE = "default"
MESSAGE = Message("01990000-0000-7000-8000-000000000001", "100#0000000000000001", 1000, 2000)


def over(aws: EmbeddedAws) -> MessageQueue:
    """The adapter over it."""
    settings = aws.settings
    return MessageQueue(aws.clients.sqs, settings.queue_prefix, settings.queue_url_prefix)


def simulated() -> MessageQueue:
    """The adapter over the queues of the simulation, without a fault."""
    clock, settings = FakeClock(), Settings()
    names = {sqs_queue_name(settings.queue_prefix, QUEUE): QUEUE}
    client: Any = SimulatedSqs(Calls(lambda: clock.at), names=names)
    return MessageQueue(client, settings.queue_prefix, create_queues(client, settings))


KINDS = ["simulated", "sqs", pytest.param("emulator", marks=pytest.mark.emulator)]


@pytest.fixture(params=KINDS)
def messages(request: pytest.FixtureRequest) -> MessageQueue:
    """Queues of each kind."""
    if request.param == "simulated":
        return simulated()
    return over(request.getfixturevalue("emulated_aws" if request.param == "emulator" else "aws"))


def test_what_is_sent_is_received_once_and_gone_when_deleted(messages: MessageQueue) -> None:
    """With its content, and the number of times it was received."""
    messages.send(QUEUE, MESSAGE)
    (received,) = messages.receive(QUEUE, 10, 30)
    assert (received.message, received.receive_count) == (MESSAGE, 1)
    assert messages.receive(QUEUE, 10, 30) == []
    messages.delete(QUEUE, [received.handle])
    messages.delete(QUEUE, [received.handle])
    assert messages.backlog(QUEUE).total == 0


def test_a_message_that_is_hidden_for_no_time_is_there_again(messages: MessageQueue) -> None:
    """And counted."""
    messages.send(QUEUE, MESSAGE)
    (received,) = messages.receive(QUEUE, 1, 30)
    messages.hide(QUEUE, [(received.handle, 0)])
    (again,) = messages.receive(QUEUE, 1, 30)
    assert again.receive_count == 2


def test_many_messages_take_few_calls(messages: MessageQueue) -> None:
    """More than ten in each operation."""
    messages.send_all(QUEUE, [(Message(f"id-{n}"), 0) for n in range(23)])
    handles: list[str] = []
    while received := messages.receive(QUEUE, 10, 30):
        handles += [item.handle for item in received]
    assert len(handles) == 23
    messages.hide(QUEUE, [(handle, 0) for handle in handles])
    assert messages.backlog(QUEUE).visible in {0, 23}
    handles = []
    while received := messages.receive(QUEUE, 10, 30):
        handles += [item.handle for item in received]
    messages.delete(QUEUE, handles)
    assert messages.receive(QUEUE, 10, 0) == []


def test_a_delayed_message_is_not_there_yet(messages: MessageQueue) -> None:
    """And is counted by itself, as are those in somebody's hands."""
    messages.send(QUEUE, MESSAGE, delay_s=900)
    assert messages.receive(QUEUE, 10, 30) == []
    messages.send_all(QUEUE, [(MESSAGE, 0), (MESSAGE, 0)])
    assert len(messages.receive(QUEUE, 1, 30)) == 1
    assert messages.backlog(QUEUE) == Backlog(visible=1, hidden=1, delayed=1)
    assert messages.backlog(QUEUE).total == 3


def test_a_queue_that_does_not_exist_has_its_own_error(aws: EmbeddedAws) -> None:
    """Sending says so; receiving finds nothing."""
    messages = over(aws)
    assert messages.receive("nowhere", 1, 30) == []
    with pytest.raises(QueueMissingError):
        messages.send("nowhere", MESSAGE)
    with pytest.raises(QueueMissingError):
        messages.send_all("nowhere", [(MESSAGE, 0), (MESSAGE, 0)])


def test_an_unreadable_message_is_moved_to_the_dead_letter_queue(aws: EmbeddedAws) -> None:
    """By the first who receives it, with its text and where it came from; the others are given."""
    messages, sqs = over(aws), aws.clients.sqs
    name = dead_letter_queue_name(aws.settings.queue_prefix)
    dead = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=messages.url(QUEUE), MessageBody="what?")
    messages.send(QUEUE, MESSAGE)
    assert [item.message for item in messages.receive(QUEUE, 10, 30)] == [MESSAGE]
    assert messages.backlog(QUEUE).total == 1
    (moved,) = sqs.receive_message(QueueUrl=dead, MessageAttributeNames=["All"])["Messages"]
    assert moved["Body"] == "what?"
    assert moved["MessageAttributes"]["ojs_queue"]["StringValue"] == QUEUE


def test_an_unreadable_message_that_cannot_be_moved_comes_back(aws: EmbeddedAws) -> None:
    """It keeps nobody from the others, and is not lost."""
    messages, sqs = over(aws), aws.clients.sqs
    name = dead_letter_queue_name(aws.settings.queue_prefix)
    sqs.delete_queue(QueueUrl=sqs.create_queue(QueueName=name)["QueueUrl"])
    sqs.send_message(QueueUrl=messages.url(QUEUE), MessageBody="what?")
    messages.send(QUEUE, MESSAGE)
    assert [item.message for item in messages.receive(QUEUE, 10, 30)] == [MESSAGE]
    assert messages.backlog(QUEUE).total == 2


@pytest.mark.parametrize(
    "body",
    [
        *("", "null", "[]", "{}", '{"v":2,"id":"x"}', '{"v":1,"id":7}'),
        *('{"v":1,"id":"x","to":1e999}', '{"v":1,"id":"x","vt":NaN}', '{"v":1,"id":"x","s":"-"}'),
    ],
)
def test_what_is_no_message_is_refused(body: str) -> None:
    """Also a version that is yet to come."""
    with pytest.raises(UnreadableMessageError):
        decode_message(body)


def test_a_message_survives_its_encoding() -> None:
    """With and without what is optional."""
    for message in (MESSAGE, Message("id")):
        assert decode_message(encode_message(message)) == message


def test_names_of_sqs_queues_fit_and_differ() -> None:
    """Dots, hyphens, and 128 characters (ENV-015)."""
    names = ["a", "a.b", "a-b", "a..b", "a" * 128, "a" * 127 + "b", "x." * 64]
    made = {sqs_queue_name("ojs-production", name) for name in names}
    made.add(dead_letter_queue_name("ojs-production"))
    assert len(made) == len(names) + 1
    assert max(map(len, made)) <= 80
