"""The review desk: its list, its pictures, and what an edit costs."""
