#pragma once
// Reads the pictures of validations (RUN/pictures/iter-…/pictures.json and its PNG files).

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace flowtrain {

/// A list over sets and iterations, oldest first: what each pictures.json says, in which every sample also has `width`
/// and `height` (pixels) and `src`, the picture itself as a data URI; likewise `prediction_src` and `label_src`, and
/// those of `fields`, whose sounds are `sound_src`. Of the iterations the newest, the first and then those between are
/// embedded, as far as `budget` bytes of PNG and WAV suffice; others have a path that begins with `link`, the run's
/// folder as seen from the page. A file that is missing, or is neither PNG nor WAV, has no address.
nlohmann::ordered_json pictures_of(const std::filesystem::path& run, const std::string& link, std::size_t budget);

/// Returns base64 (RFC 4648): "QUJD" for "ABC".
std::string base64(std::string_view bytes);

}  // namespace flowtrain
