"""The encoder of a live stream, a process of its own: what it is sent, and how it fails."""
