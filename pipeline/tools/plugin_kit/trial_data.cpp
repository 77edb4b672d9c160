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

/// The records of `shapes`, drawn, and each with a text.
class DrawnShapes : public Dataset {
 public:
  explicit DrawnShapes(bool as_files) : as_files_(as_files), recipes_(open_shapes()) {}

  std::uint64_t size() const override { return recipes_->size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    Record record = recipes_->read(id, buffer);
    Image picture;
    draw_shapes(record.bytes, picture);
    buffer.parts = {{.name = "txt", .encoding = Encoding::text, .bytes = text_of(id)}};
    record.parts = buffer.parts;
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
  std::vector<PartForm> parts() const override { return {{"txt", Encoding::text}}; }
  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    buffer.shapes = {std::ssize(text_of(id))};
    record = read(id, buffer);
    record.bytes = {};
    buffer.parts[0].bytes = {};
    buffer.parts[0].shape = buffer.shapes;
    return true;
  }
  std::int64_t label(std::uint64_t id) const override { return recipes_->label(id); }
  std::vector<std::string> classes() const override { return recipes_->classes(); }
  bool has_boxes() const override { return true; }
  std::uint64_t fingerprint() const override { return fingerprint_of(as_files_ ? "images" : "pixels"); }
  std::string describe(std::uint64_t id) const override {
    return (as_files_ ? "images #" : "pixels #") + std::to_string(id);
  }

 private:
  /// Returns the text of a record, 0 to 96 bytes of ASCII.
  static std::span<const std::byte> text_of(std::uint64_t id) {
    static constexpr std::string_view text =
        "a red circle, a green square and a blue ring; the two grey stars behind them are half out of it.";
    return std::as_bytes(std::span(text)).first(id * 7 % (text.size() + 1));
  }

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
