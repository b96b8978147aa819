output "api_url" {
  description = "OJS_URL of clients, workers and the command line."
  value       = aws_cloudformation_stack.backend.outputs["ApiUrl"]
}

output "job_endpoint_url" {
  description = "With job_endpoint = true: the URL of senders and workers."
  value       = lookup(aws_cloudformation_stack.backend.outputs, "JobEndpointUrl", "")
}

output "table_name" {
  description = "OJS_TABLE of `ojs-aws keys`."
  value       = aws_cloudformation_stack.backend.outputs["TableName"]
}

output "next_command" {
  description = "The line for a shell that makes the first call."
  value       = aws_cloudformation_stack.backend.outputs["NextCommand"]
}
