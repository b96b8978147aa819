"""How clients spell things, and what they read: the only place that knows.

``envelopes`` brings what they push into the canonical flat form, ``reports`` what workers send into
that of the models; ``answers`` gives every field that a document or an official client reads.
Client data passes as raw text: nothing that is not changed is encoded again.
"""
