#include "pipeline/inference/predict/boxes_folder.h"

#include <utility>

#include "pipeline/base/snapshot/file.h"
#include "pipeline/base/telemetry/format.h"
#include "sampling/codecs/encode.h"
#include "stages/detection/draw.h"

namespace flowtrain {

namespace {

// Returns the part of a name after its folder, without its ending; for an address, without its query.
std::string stem_of(const std::string& name) {
  const std::string path = name.substr(0, name.find('?'));
  constexpr std::size_t most = 200;  // in bytes; a file's name may have 255
  return std::filesystem::path(path.substr(path.find_last_of("/:") + 1)).stem().string().substr(0, most);
}

}  // namespace

BoxesFolder::BoxesFolder(std::filesystem::path folder) : folder_(std::move(folder)) { make_folders(folder_); }

std::string BoxesFolder::write(const Prediction& prediction) {
  Image rgb;
  if (prediction.bgr) {
    rgb = *prediction.bgr;
    for (std::size_t i = 0; i < rgb.pixels.size(); i += 3) std::swap(rgb.pixels[i], rgb.pixels[i + 2]);
    draw_boxes(rgb.pixels.data(), rgb.height, rgb.width, {}, prediction.found, 0);
  }
  for (auto& field : prediction.input)
    if (rgb.pixels.empty()) rgb = field.shown.picture;
  if (rgb.pixels.empty()) return {};
  const std::string number = printed("%06llu-", static_cast<unsigned long long>(++written_));
  const std::string path = (folder_ / (number + stem_of(prediction.name) + ".png")).string();
  write_png(path, rgb.view());
  return path;
}

}  // namespace flowtrain
