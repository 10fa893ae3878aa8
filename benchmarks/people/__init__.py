"""Does everybody keep one face, and is nobody taken for somebody else? Clips, crowds, recognisers, the whitelist."""
