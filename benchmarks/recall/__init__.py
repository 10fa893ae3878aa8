"""Which faces are found and covered, and what is covered that is none, against heads that were labelled by eye."""
