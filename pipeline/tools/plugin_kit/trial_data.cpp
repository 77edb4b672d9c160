#include "pipeline/tools/plugin_kit/trial_data.h"

#include <algorithm>

#include "sampling/codecs/encode.h"
#include "sampling/core/registry.h"
#include "sampling/datasets/shapes.h"
#include "sampling/fingerprint.h"

namespace flowtrain::plugin_kit {
namespace {

constexpr std::int64_t trial_records = 300;

std::unique_ptr<Dataset> open_shapes() {
  const auto& entry = datasets().at("shapes");
  auto keys = entry.keys;
  keys.push_back({"split", Kind::text, std::string(), ""});
  Settings settings("data", keys);
  settings.set("samples", trial_records, {});
  settings.set("objects", std::int64_t{3}, {});
  return entry.make(settings, DatasetInput{});
}

/// The records of `shapes`, drawn.
class DrawnShapes : public Dataset {
 public:
  explicit DrawnShapes(bool as_files) : as_files_(as_files), recipes_(open_shapes()) {}

  std::uint64_t size() const override { return recipes_->size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    Record record = recipes_->read(id, buffer);
    Image picture;
    draw_shapes(record.bytes, picture);
    if (as_files_) {
      buffer.bytes = encode_picture(picture.view(), id % 2 == 0 ? FileFormat::jpeg : FileFormat::png, 90);
      record.encoding = Encoding::image;
    } else {
      const auto pixels = std::as_bytes(std::span(picture.pixels));
      buffer.bytes.assign(pixels.begin(), pixels.end());
      record.encoding = Encoding::pixels;
      record.height = static_cast<std::uint32_t>(picture.height);
      record.width = static_cast<std::uint32_t>(picture.width);
      record.channels = static_cast<std::uint32_t>(picture.channels);
    }
    record.bytes = buffer.bytes;
    return record;
  }
  std::int64_t label(std::uint64_t id) const override { return recipes_->label(id); }
  std::vector<std::string> classes() const override { return recipes_->classes(); }
  bool has_boxes() const override { return true; }
  std::uint64_t fingerprint() const override { return fingerprint_of(as_files_ ? "images" : "pixels"); }
  std::string describe(std::uint64_t id) const override {
    return (as_files_ ? "images #" : "pixels #") + std::to_string(id);
  }

 private:
  bool as_files_;
  std::unique_ptr<Dataset> recipes_;
};

}  // namespace

const std::vector<std::string>& trial_kinds() {
  static const std::vector<std::string> kinds{"shapes", "pixels", "images"};
  return kinds;
}

std::unique_ptr<Dataset> make_trial_data(const std::string& kind) {
  if (kind == "shapes") return open_shapes();
  return std::make_unique<DrawnShapes>(kind == "images");
}

}  // namespace flowtrain::plugin_kit
