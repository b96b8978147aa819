"""Makes the zip files of a deployment's functions, or finds those that exist already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import BackendError

if TYPE_CHECKING:
    from ojs_aws.adapters.stacks import Stacks
    from ojs_aws.cdk.bundle import Bundle, Target

_S3: Final = "s3://"
_STORE: Final = Path("build/lambda")
"""The folder of bundles; their names say what is in them."""


def code_of(bundles: str, target: Target, stacks: Stacks, bucket: str) -> tuple[str, str]:
    """Return bucket and key of the functions' zip, after making and uploading it if necessary.

    :param bundles: a folder or ``s3://`` prefix that has the zip; empty: pip makes it.
    :raises BackendError: the zip cannot be made, read or uploaded.
    """
    from ojs_aws.cdk.bundle_store import zip_name

    name = zip_name(target.machine, target.python)
    if bundles.startswith(_S3):
        place, _, folder = bundles.removeprefix(_S3).partition("/")
        return place, "/".join(part for part in (folder.strip("/"), name) if part)
    path = Path(bundles) / name if bundles else made_bundle(target)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise BackendError(
            f"{path} cannot be read: {problem.strerror}.",
            hint="`ojs-aws bundle DIR` makes it, for --architecture and --python.",
        ) from None
    return bucket, stacks.upload(bucket, content, ".zip")


def made_bundle(target: Target, folder: Path = _STORE) -> Path:
    """Make the functions' zip with pip and the lock files of this package; return its path.

    :raises BackendError: a package cannot be installed for the target.
    """
    from ojs_aws.cdk.bundle import backend_bundle
    from ojs_aws.cdk.bundle_store import zip_name

    return _make(backend_bundle(target), folder, zip_name(target.machine, target.python))


def made_worker(code: Path, target: Target) -> Path:
    """Make the zip of a Lambda worker: its folder, its packages, and this package.

    :raises BackendError: there is no such folder, or a package cannot be installed.
    """
    from ojs_aws.cdk.bundle import Bundle

    return _make(Bundle(target=target, code_dir=code), _STORE, "worker.zip")


def _make(bundle: Bundle, folder: Path, name: str) -> Path:
    from ojs_aws.cdk.bundle import BundlingError, build
    from ojs_aws.cdk.bundle_store import write_zip

    try:
        built = build(bundle, folder)
    except BundlingError as problem:
        raise BackendError(
            str(problem), hint="Where pip reaches no packages, use --bundles with a release's zip."
        ) from None
    write_zip(built, folder / name)
    return folder / name
