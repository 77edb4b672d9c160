#pragma once
// Opens libsndfile together with the first recording that needs it.

#include <sndfile.h>

#include <string_view>

namespace flowtrain {

/// The functions of libsndfile that are used here, by their names without "sf_".
struct LibSndfile {
  decltype(&sf_open_virtual) open_virtual;
  decltype(&sf_close) close;
  decltype(&sf_readf_float) readf_float;
  decltype(&sf_writef_int) writef_int;
  decltype(&sf_seek) seek;
  decltype(&sf_error) error;
  decltype(&sf_strerror) strerror;
  decltype(&sf_version_string) version_string;
};

/// Returns whether the libsndfile of this version, such as "libsndfile-1.2.0", reads MP3 files: 1.1 and newer ones do.
bool reads_mp3(std::string_view version);

/// Opens the system's libsndfile at the first call. Any thread. Throws UserError(data) if there is none.
const LibSndfile& libsndfile();

}  // namespace flowtrain
