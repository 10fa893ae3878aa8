"""Does a pixel of a face get through? Whole clips, single faces, quick heads, things before faces."""
