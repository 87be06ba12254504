// Nothing: a stand-in library only has a name, and needs _core, which has the functions.
