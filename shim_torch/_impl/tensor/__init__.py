"""The tensor type's Python part: construction, printing, copies, indexing, storage, generators."""
