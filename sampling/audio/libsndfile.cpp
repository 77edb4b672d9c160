#include "sampling/audio/libsndfile.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"

namespace flowtrain {
namespace {

template <class Function>
void find_in_sndfile(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw UserError(ExitCode::data, std::string("this libsndfile is too old: it lacks ") + name,
                    "install version 1.1 or newer");
}

LibSndfile open_libsndfile() {
  void* const library = dlopen("libsndfile.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw UserError(ExitCode::data,
                    std::string("cannot open libsndfile, which reads FLAC, Ogg and MP3 files: ") + dlerror(),
                    "install it (libsndfile1 in Debian and Ubuntu, libsndfile in Fedora), or convert the recordings to "
                    "WAV files of 16 bits");
  LibSndfile sndfile{};
  find_in_sndfile(library, "sf_open_virtual", sndfile.open_virtual);
  find_in_sndfile(library, "sf_close", sndfile.close);
  find_in_sndfile(library, "sf_readf_float", sndfile.readf_float);
  find_in_sndfile(library, "sf_writef_int", sndfile.writef_int);
  find_in_sndfile(library, "sf_seek", sndfile.seek);
  find_in_sndfile(library, "sf_error", sndfile.error);
  find_in_sndfile(library, "sf_strerror", sndfile.strerror);
  find_in_sndfile(library, "sf_version_string", sndfile.version_string);
  return sndfile;
}

}  // namespace

bool reads_mp3(std::string_view version) {
  version.remove_prefix(std::min(version.find_first_of("0123456789"), version.size()));
  const auto dot = version.find('.');
  const auto major = parse_number<int>(version.substr(0, dot));
  if (!major || dot == version.npos) return true;  // libsndfile's own message tells
  version.remove_prefix(dot + 1);
  const auto minor = parse_number<int>(version.substr(0, version.find_first_not_of("0123456789")));
  return *major != 1 || minor.value_or(1) >= 1;
}

const LibSndfile& libsndfile() {
  static const LibSndfile sndfile = open_libsndfile();
  return sndfile;
}

}  // namespace flowtrain
