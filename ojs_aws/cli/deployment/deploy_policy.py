"""Says which IAM policy a deployment needs, by the types of the resources in the template."""

from __future__ import annotations

from typing import Any, Final

from ojs_aws.cdk.published_template import rendered

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
