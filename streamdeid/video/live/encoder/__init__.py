"""The encoder of a live stream, which is a process of its own: its messages, its pictures and its errors."""
