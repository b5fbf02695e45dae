from __future__ import annotations

from django.db import models


class Order(models.Model):
    name = models.TextField()

    def __str__(self):
        return self.name
