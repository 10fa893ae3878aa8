"""Does the review list name what slipped through? Clips as analyses, misses on purpose, ranks."""
