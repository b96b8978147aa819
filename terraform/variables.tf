variable "name" {
  description = "Name of the stack."
  type        = string
  default     = "OjsBackend"
}

variable "template_url" {
  description = "HTTPS URL of template.json in a bucket of yours."
  type        = string
}

variable "bundle_bucket" {
  description = "The bucket of the functions' zip file."
  type        = string
}

variable "bundle_key" {
  description = "The key of the functions' zip file."
  type        = string
}

variable "prefix" {
  description = "Begins the name of each SQS queue."
  type        = string
  default     = "ojs"
}

variable "auth" {
  description = "Who may call: api-key, iam, jwt or none."
  type        = string
  default     = "api-key"
}

variable "jwt_issuer" {
  description = "With auth = jwt: the issuer's URL."
  type        = string
  default     = ""
}

variable "jwt_audience" {
  description = "With auth = jwt: the audiences."
  type        = list(string)
  default     = []
}

variable "job_endpoint" {
  description = "A function URL for senders and workers."
  type        = bool
  default     = false
}

variable "alarm_email" {
  description = "Who gets mail of alarms."
  type        = string
  default     = ""
}

variable "encryption_key" {
  description = "ARN of a KMS key for table and bucket."
  type        = string
  default     = ""
}

variable "log_retention_days" {
  description = "How long logs are kept."
  type        = number
  default     = 30
}

variable "permissions_boundary" {
  description = "ARN of the boundary of all roles."
  type        = string
  default     = ""
}

variable "subnet_ids" {
  description = "Subnets of a VPC for the functions."
  type        = list(string)
  default     = []
}

variable "security_group_ids" {
  description = "Their security groups."
  type        = list(string)
  default     = []
}

variable "architecture" {
  description = "Processor of the zip file."
  type        = string
  default     = "arm64"
}

variable "python" {
  description = "Python of the zip file."
  type        = string
  default     = "3.13"
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
