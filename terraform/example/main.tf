# Uploads what a release consists of, and makes a backend of it.

variable "release" {
  description = "The folder with template.json and the zip file of a release."
  type        = string
}

resource "aws_s3_bucket" "release" {
  bucket_prefix = "ojs-aws-release-"
}

resource "aws_s3_object" "template" {
  bucket = aws_s3_bucket.release.id
  key    = "template-${filesha256("${var.release}/template.json")}.json"
  source = "${var.release}/template.json"
}

resource "aws_s3_object" "bundle" {
  bucket = aws_s3_bucket.release.id
  key    = "bundle-${filesha256("${var.release}/ojs-aws-arm64-python3.13.zip")}.zip"
  source = "${var.release}/ojs-aws-arm64-python3.13.zip"
}

module "jobs" {
  source        = "../"
  template_url  = "https://${aws_s3_bucket.release.bucket_regional_domain_name}/${aws_s3_object.template.key}"
  bundle_bucket = aws_s3_bucket.release.id
  bundle_key    = aws_s3_object.bundle.key
  alarm_email   = "ops@example.com"
  tags          = { cost-center = "shop" }
}

output "next_command" {
  value = module.jobs.next_command
}
