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
  std::string tag;  ///< "pictures/00", "worst/00"
  std::string png;  ///< the file's bytes
};

/// Those of one validation.
struct PictureSet {
  std::uint64_t iteration = 0;
  std::vector<LoggedPicture> pictures;
};

/// The sets in `folder` (iter-00000500/pictures.json, with the files that it names) up to `iteration`, except those of
/// the iterations `known`, in their order. Where there is no such folder there are none; a set that is not complete yet
/// is left out.
std::vector<PictureSet> new_pictures(const std::filesystem::path& folder, std::uint64_t iteration,
                                     const std::set<std::uint64_t>& known);

}  // namespace flowtrain
