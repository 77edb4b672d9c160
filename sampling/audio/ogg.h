#pragma once
// Checks Ogg files (RFC 3533), of which libsndfile skips damaged pages without a word: the recording is then shorter.

#include <cstddef>
#include <span>

namespace flowtrain {

/// Checks the pages of a file that begins with "OggS": their checksums, and that none is missing between two others.
/// Throws SampleError that tells of the first page that is damaged or missing. The last page may lack the mark of the
/// end, which not all encoders write, and other bytes may follow behind that mark.
void check_ogg_pages(std::span<const std::byte> file);

}  // namespace flowtrain
