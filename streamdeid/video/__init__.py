"""Pictures in and out: `files` for recordings, `live` for cameras and streams, what both need beside them.

The only room that imports PyAV. Sinks take a `DeidentifiedFrame` and nothing else. A new source or sink goes here.
"""
