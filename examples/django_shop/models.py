"""What the shop keeps."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    state = models.CharField(max_length=20, default="waits")

    def __str__(self) -> str:
        return f"Order {self.pk}: {self.state}"
