"""What a run says of itself: what is counted (`counts`), the redaction report, its audit, the contact sheet.

Names, hashes, counts and times. No vector, no key, no path, no password.
"""
