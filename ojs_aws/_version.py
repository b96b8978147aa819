"""The one place that states the version; the build and `ojs_aws.__version__` read it."""

from typing import Final

__version__: Final = "0.1.0"
