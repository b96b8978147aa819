"""States the version once; the build and `ojs_aws.__version__` read it."""

__version__ = "0.2.0"
