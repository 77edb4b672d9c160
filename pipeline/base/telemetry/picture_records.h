#pragma once
// The pictures of validations in a run's folder: pictures/iter-00000500/pictures.json and the PNG files that it names;
// those of a [[val.set]] in a folder of its name below.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// The place of the pictures of one validation on one set.
struct PictureFolder {
  std::uint64_t iteration = 0;
  std::string set;   ///< empty: the first one
  std::string path;  ///< path within the run's folder: "pictures/iter-00000500/night/"
};

/// Returns the folders with a pictures.json, of the iterations that `wanted` takes, by iteration and set.
std::vector<PictureFolder> picture_folders(const std::filesystem::path& run,
                                           const std::function<bool(std::uint64_t)>& wanted);

/// Returns whether a file of pictures.json lies in its folder. A name that leads elsewhere is not the run's.
bool is_plain_name(const std::string& name);

struct PngSize {
  std::uint32_t width = 0, height = 0;  ///< size in pixels, more than 0
};
/// The bytes at a PNG file's beginning that have its size.
inline constexpr std::size_t png_head = 24;
/// Returns nothing unless the bytes are a PNG file's.
std::optional<PngSize> png_size(std::string_view bytes);

}  // namespace flowtrain
