"""Makes the deployed entry points a package of the local server: ``ojs_aws.local.functions``.

They are the files that go into every bundle. This name finds them in a checkout and in an installed
package, even if the application has a package ``functions`` of its own.
"""

from __future__ import annotations

from ojs_aws.cdk.bundle import FUNCTIONS

__path__ = [str(FUNCTIONS)]
