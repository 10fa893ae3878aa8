"""Runs: this room connects the other rooms into the loop, for files, live streams and single pictures.

`step` is the loop, `files` filters a recording from the first frame to the last, `live` a stream, and `pictures` single
pictures for the library. `session` holds what a run opens once, `people` holds the people of a stream, and `parts`
assembles the concrete parts; `live_parts` does so for the camera and output of a live stream, `whitelist` for the
whitelist. `workers` has the processes that work for a run, `batch` filters several files at a time, and `archive` and
`fetched` handle files at addresses.

Nothing here computes on pixels. The command line and the service start the runs of this room.
"""
