#pragma once
// The pictures of validations in a run's folder, for TensorBoard.

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace flowtrain {

/// One picture, or the texts of the samples of a list.
struct LoggedPicture {
  std::string tag;   ///< "pictures/00", "worst/00", "pictures/00/FIELD"; for a [[val.set]] "pictures/night/00"
  std::string data;  ///< the bytes of a PNG file; a table in Markdown, "pictures/fields", of texts
  bool is_text = false;
};

/// The pictures of one validation.
struct PictureSet {
  std::uint64_t iteration = 0;
  std::vector<LoggedPicture> pictures;
};

/// Returns the pictures of a run's validations up to `iteration`, of all sets, except those of the iterations `known`,
/// in their order; for detections those with boxes. Validations without complete pictures are left out.
std::vector<PictureSet> new_pictures(const std::filesystem::path& run, std::uint64_t iteration,
                                     const std::set<std::uint64_t>& known);

}  // namespace flowtrain
