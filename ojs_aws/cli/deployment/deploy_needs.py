"""Makes the zip files of a deployment's functions, and says which IAM policy it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.errors import BackendError

if TYPE_CHECKING:
    from ojs_aws.adapters.stacks import Stacks
    from ojs_aws.cdk.bundle import Bundle, Target

_S3: Final = "s3://"
_STORE: Final = Path("build/lambda")
"""The folder of bundles; their names say what is in them."""


def uploaded_code(bundles: str, target: Target, stacks: Stacks, bucket: str) -> tuple[str, str]:
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


ACTIONS: Final[dict[str, tuple[str, ...]]] = {
    "AWS::ApiGatewayV2": ("apigateway:*",),
    "AWS::CloudWatch": (
        "cloudwatch:DeleteAlarms",
        "cloudwatch:DescribeAlarms",
        "cloudwatch:ListTagsForResource",
        "cloudwatch:PutMetricAlarm",
        "cloudwatch:TagResource",
    ),
    "AWS::DynamoDB": (
        "dynamodb:CreateTable",
        "dynamodb:DeleteTable",
        "dynamodb:Describe*",
        "dynamodb:ListTagsOfResource",
        "dynamodb:TagResource",
        "dynamodb:UntagResource",
        "dynamodb:UpdateContinuousBackups",
        "dynamodb:UpdateContributorInsights",
        "dynamodb:UpdateTable",
        "dynamodb:UpdateTimeToLive",
    ),
    "AWS::Events": ("events:*",),
    "AWS::IAM": (
        "iam:AttachRolePolicy",
        "iam:CreateRole",
        "iam:DeleteRole",
        "iam:DeleteRolePolicy",
        "iam:DetachRolePolicy",
        "iam:GetRole",
        "iam:GetRolePolicy",
        "iam:PassRole",
        "iam:PutRolePermissionsBoundary",
        "iam:PutRolePolicy",
        "iam:TagRole",
        "iam:UpdateAssumeRolePolicy",
    ),
    "AWS::Lambda": ("lambda:*",),
    "AWS::Logs": (
        "logs:CreateLogDelivery",
        "logs:CreateLogGroup",
        "logs:DeleteLogDelivery",
        "logs:DeleteLogGroup",
        "logs:Describe*",
        "logs:GetLogDelivery",
        "logs:ListLogDeliveries",
        "logs:ListTagsForResource",
        "logs:PutResourcePolicy",
        "logs:PutRetentionPolicy",
        "logs:TagResource",
        "logs:UpdateLogDelivery",
    ),
    "AWS::S3": (
        "s3:CreateBucket",
        "s3:DeleteBucket",
        "s3:DeleteBucketPolicy",
        "s3:Get*",
        "s3:ListBucket",
        "s3:PutBucket*",
        "s3:PutEncryptionConfiguration",
        "s3:PutLifecycleConfiguration",
        "s3:PutObject",
    ),
    "AWS::SNS": (
        "sns:CreateTopic",
        "sns:DeleteTopic",
        "sns:Get*",
        "sns:List*",
        "sns:SetTopicAttributes",
        "sns:Subscribe",
        "sns:TagResource",
        "sns:Unsubscribe",
    ),
    "AWS::SQS": (
        "sqs:CreateQueue",
        "sqs:DeleteQueue",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
        "sqs:ListQueueTags",
        "sqs:SetQueueAttributes",
        "sqs:TagQueue",
    ),
}
"""The actions by which CloudFormation makes, changes and removes the resources of each service."""

_OWN: Final = (
    "cloudformation:CreateChangeSet",
    "cloudformation:DeleteChangeSet",
    "cloudformation:DeleteStack",
    "cloudformation:Describe*",
    "cloudformation:ExecuteChangeSet",
    "cloudformation:GetTemplate",
    "cloudformation:ListStackResources",
)


DELETE_DATA: Final = (
    "s3:DeleteObject",
    "s3:DeleteObjectVersion",
    "s3:ListBucketVersions",
    "sqs:ListQueues",
)
"""What `destroy --delete-data` does beside that, to empty the bucket and to find queues."""


def deploy_policy(stack: str, *, deletes_data: bool = False) -> dict[str, Any]:
    """Return the policy of whoever deploys: the commands' own calls, and CloudFormation's.

    The latter act on names that CloudFormation invents: a permissions boundary bounds the roles.

    :param deletes_data: for `ojs-aws destroy --delete-data`, too.
    """
    from ojs_aws.cdk.published_template import rendered

    services = {
        "::".join(each["Type"].split("::")[:2])
        for each in rendered(["default"])["Resources"].values()
    }
    made = sorted({action for service in services for action in ACTIONS[service]})
    made += DELETE_DATA if deletes_data else ()
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": [*_OWN],
                "Resource": f"arn:*:cloudformation:*:*:stack/{stack}/*",
            },
            {"Effect": "Allow", "Action": ["sts:GetCallerIdentity", *made], "Resource": "*"},
        ],
    }
