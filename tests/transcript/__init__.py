"""The wire transcript: what the API answers to every operation, recorded and compared.

``features`` declares the requests as data; ``recorded`` holds the requests with their answers as
text, one file for each feature. ``test_transcript`` sends the requests again and compares.
``python -m tests.transcript --write`` (``make transcript``) writes the files again.
"""
