#pragma once
// Pictures of validations that a run has left in its folder, for TensorBoard.

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace flowtrain {

/// One picture.
struct LoggedPicture {
  std::string tag;  ///< "pictures/00", "worst/00"; of a [[val.set]] "pictures/night/00"
  std::string png;  ///< the file's bytes
};

/// Those of one validation.
struct PictureSet {
  std::uint64_t iteration = 0;
  std::vector<LoggedPicture> pictures;
};

/// The pictures of a run's validations up to `iteration`, of all sets, except those of the iterations `known`, in their
/// order; of detections those with boxes. Where there are none, or not all of a validation's are there yet, it is left
/// out.
std::vector<PictureSet> new_pictures(const std::filesystem::path& run, std::uint64_t iteration,
                                     const std::set<std::uint64_t>& known);

}  // namespace flowtrain
