"""Encrypt the arguments and results of jobs; with keys of the program or of AWS KMS."""
