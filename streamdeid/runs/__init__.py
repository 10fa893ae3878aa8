"""The rooms put together: the loop, files, live, single pictures.

`step` is the loop, `files` a recording from the first frame to the last, `live` a stream, `pictures` the library.
`session` is what a run opens once, `people` who is in a stream, and `parts` puts the concrete parts together;
camera and output of a live stream are named in `live_parts`, the whitelist's in `whitelist`. `workers` are the
processes that work for a run, `batch` files beside each other, `archive` and `fetched` those at addresses.

Nothing here computes on pixels. The command line and the service start what stands here.
"""
