"""Reading and writing of video: `files` for recordings, `live` for cameras and streams; the rest serves both.

This is the only room that imports PyAV. Sinks take a `DeidentifiedFrame` and nothing else. A new source or sink goes
here.
"""
