"""The addresses of the shop, and its dashboard behind the login."""

from __future__ import annotations

from django.contrib.auth.views import LoginView
from django.urls import include, path

from examples.django_shop.views import place_order, shop

urlpatterns = [
    path("", shop),
    path("orders", place_order),
    path("login/", LoginView.as_view(template_name="login.html")),
    path("jobs/", include("ojs_aws.contrib.django.dashboard")),
]
