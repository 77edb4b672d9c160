// A shared object that is no plugin.
extern "C" int unrelated() { return 1; }
