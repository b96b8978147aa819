"""A shop in FastAPI whose jobs commit with its orders: ``python -m examples.fastapi_shop``."""
