"""A shop in Django whose jobs commit with its orders: ``python -m examples.django_shop``."""
