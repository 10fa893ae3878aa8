"""What a run reports about itself: its counts (`counts`), the redaction report, its audit and the contact sheet.

These hold names, hashes, counts and times. They hold no vector, no key, no path and no password.
"""
