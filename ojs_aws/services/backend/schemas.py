"""Makes the services of job types' schemas."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.schemas.registry import SchemaRegistry
    from ojs_aws.services.schemas.validation import SchemaValidation


class SchemaServices:
    """Holds the registry of schemas and the check of arguments against them."""

    def __init__(self, shared: Foundation) -> None:
        """Make nothing yet."""
        self._shared = shared

    @cached_property
    def registry(self) -> SchemaRegistry:
        """Return the registry of job types' schemas."""
        from ojs_aws.services.schemas.registry import SchemaRegistry

        return SchemaRegistry(self._shared.stores.schemas(), self._shared.clock)

    @cached_property
    def validation(self) -> SchemaValidation:
        """Return the service that checks arguments against schemas."""
        from ojs_aws.services.schemas.validation import SchemaValidation

        stores = self._shared.stores
        return SchemaValidation(stores.schemas(), self._shared.clock, stores.processor_s)
