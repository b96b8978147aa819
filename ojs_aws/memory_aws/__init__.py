"""Keeps an AWS in memory: the few calls that the adapters make, answered as AWS answers them.

The testing kit, the simulation and most tests run the adapters over it. It evaluates the grammar
of expressions that the adapters write and refuses any other, keeps limits of sizes and counts, and
reports consumed units, stream records and failed conditions as DynamoDB does. Time is a parameter;
index lag, faults, and the order in which SQS gives messages out are a test's to choose. The
contract suite compares it with Amazon's DynamoDB Local, moto and an emulator.

It has no authentication, no metrics, no throttling of its own, and nothing that no adapter uses.
"""

from __future__ import annotations

from ojs_aws.memory_aws.aws import MemoryAws
from ojs_aws.memory_aws.calls import Call, Inject

__all__ = ["Call", "Inject", "MemoryAws"]
