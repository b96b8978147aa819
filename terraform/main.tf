# A thin module around the template that `ojs-aws deploy` deploys: template.json of a release, in a
# bucket of yours beside the functions' zip file.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

resource "aws_cloudformation_stack" "backend" {
  name         = var.name
  template_url = var.template_url
  capabilities = ["CAPABILITY_IAM"]
  tags         = var.tags

  parameters = {
    Prefix              = var.prefix
    Auth                = var.auth
    JwtIssuer           = var.jwt_issuer
    JwtAudience         = join(",", var.jwt_audience)
    JobEndpoint         = tostring(var.job_endpoint)
    AlarmEmail          = var.alarm_email
    EncryptionKey       = var.encryption_key
    LogRetentionDays    = tostring(var.log_retention_days)
    PermissionsBoundary = var.permissions_boundary
    SubnetIds           = join(",", var.subnet_ids)
    SecurityGroupIds    = join(",", var.security_group_ids)
    Architecture        = var.architecture
    Python              = var.python
    BundleBucket        = var.bundle_bucket
    BundleKey           = var.bundle_key
  }
}
