"""Who is who: which tracks, before and after a gap, show one and the same person.

The modules, in the order in which a face goes through them:

* `looks` decides whether a track still shows the same face as before, so that its tracklet goes on (`face_look`).
* `identity_check` gathers good frames of a tracklet until it is known well enough, and then commits the tracklet.
* `person_templates` and `tracklet_vectors` make the template of a tracklet: from the appearance model and the upper
  face (`upper_face`), or from a deep recogniser where its weights are installed (`person_recogniser`, `face_resnet`).
  `gathered` holds the templates when a recording is analysed in segments.
* `claims` is the one rule of which person a tracklet shows, pure. It is used by `reentry` (the persons of a stream, and
  who comes back; `absent_people` holds those who are not in the picture), `registered` and `whole_recording`.
* `register` is what the de-identifier asks for persons, and has the distances. `registered` is the content of a
  register that runs share, and `register_coding` writes it as bytes. `recorded_identity` repeats what an analysis has
  decided.

`recognised_faces` and `picture_recognisers` serve the whitelist and the attacks. `face_recogniser` is the interface of
all recognisers.

Nothing here renders a face or decides a protection level. No vector is ever printed or written: what a shared register
keeps of people is a value here, and only `runs.register_file` writes it, encrypted.
"""
