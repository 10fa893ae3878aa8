"""Who is who: which tracks, before and after a gap, show one and the same person.

The chain, in the order in which a face goes through it:

* `looks`: whether a track still shows the face that it showed, so that its tracklet goes on (`face_look`).
* `identity_check`: gathers what a tracklet is recognised by until it is known well enough, and commits it.
* `person_templates`, `tracklet_vectors`: that template, of the appearance model and the upper face (`upper_face`), or
  of a deep recogniser where its weights are installed (`person_recogniser`, `face_resnet`). `gathered` is the template
  of a recording in segments.
* `claims`: the one rule of who is meant, pure. It is asked by `reentry` (persons of a stream, and who comes back; those
  who are not in the picture are `absent_people`), `registered` and `whole_recording` (all tracklets of a recording).
* `register`: how the de-identifier asks for persons, and the distances. `registered` is what a register holds that
  runs share, and `register_coding` how it is written. `recorded_identity` tells again what an analysis has decided.

Aside: `recognised_faces` and `picture_recognisers` serve the whitelist and the attackers. What all recognisers have in
common is `face_recogniser`.

Nothing here renders or decides a protection level; no vector is ever printed or written. What is kept of people in a
register that runs share is a value here; only `runs.register_file` writes it, encrypted.
"""
