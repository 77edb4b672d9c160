#include "pipeline/base/telemetry/picture_records.h"

#include <algorithm>
#include <tuple>

#include "sampling/core/parse.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (each->is_directory(error)) names.push_back(each->path().filename().string());
  return names;
}

}  // namespace

std::vector<PictureFolder> picture_folders(const fs::path& run, const std::function<bool(std::uint64_t)>& wanted) {
  constexpr std::string_view stem = "iter-";
  std::vector<PictureFolder> all;
  const auto add = [&](PictureFolder folder) {
    std::error_code error;
    if (fs::exists(run / folder.path / "pictures.json", error)) all.push_back(std::move(folder));
  };
  for (auto& name : folders_in(run / "pictures")) {
    if (!name.starts_with(stem)) continue;
    const auto iteration = parse_number<std::uint64_t>(std::string_view(name).substr(stem.size()));
    if (!iteration || !wanted(*iteration)) continue;
    const std::string path = "pictures/" + name + "/";
    add({*iteration, "", path});
    for (auto& set : folders_in(run / path)) add({*iteration, set, path + set + "/"});
  }
  std::ranges::sort(all, {}, [](auto& folder) { return std::tie(folder.iteration, folder.set); });
  return all;
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == name.npos && name != "." && name != "..";
}

// The size follows the signature, and the length and name of the first chunk.
std::optional<PngSize> png_size(std::string_view bytes) {
  constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
  constexpr std::size_t width_at = 16, height_at = 20;
  if (bytes.size() < png_head || !bytes.starts_with(signature)) return {};
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  };
  const PngSize size{number(width_at), number(height_at)};
  return size.width > 0 && size.height > 0 ? std::optional(size) : std::nullopt;
}

}  // namespace flowtrain
