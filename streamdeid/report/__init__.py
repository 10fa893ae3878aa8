"""What a run says of itself: the redaction report, its audit, the contact sheet.

Names, hashes, counts and times. No vector, no key, no path, no password.
"""
