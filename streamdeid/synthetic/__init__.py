"""People who are drawn: for the demo, the self-test, the warm-up and tests.

Made of the model and of one public-domain portrait. Nothing here filters anything.
"""
