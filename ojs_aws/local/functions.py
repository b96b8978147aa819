"""Makes the deployed entry points a package of the local server: ``ojs_aws.local.functions``.

They are the files that go into every bundle. Under this name they are found in a checkout and in
an installed package, also where the application has a package ``functions`` of its own.
"""

from __future__ import annotations

from ojs_aws.cdk.bundle import FUNCTIONS

__path__ = [str(FUNCTIONS)]
