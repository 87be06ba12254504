// A stand-in library has a name, and needs _core, which has the functions. libc10 has, too, the symbol that extensions ask for:
// linkers that leave out libraries from which nothing is taken (--as-needed, the default of some) keep it for that.
#ifdef SHIM_CXX_STAMP
extern "C" __attribute__((visibility("default"), used)) const int SHIM_CXX_STAMP;
const int SHIM_CXX_STAMP = 1;
#endif
