"""The AWS CDK app, and the constructs that people use in apps of their own."""
