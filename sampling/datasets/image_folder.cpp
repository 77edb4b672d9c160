// The `image_folder` data set: images in one folder per class: path/[split/]class/…/x.jpg.

#include "sampling/core/utf8.h"
#include "sampling/datasets/class_samples.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/fingerprint.h"
#include "sampling/named_dataset.h"

namespace flowtrain {
namespace {

class ImageFolder : public NamedDataset {
 public:
  explicit ImageFolder(ClassSamples found) : found_(std::move(found)) {}

  std::uint64_t size() const override { return found_.samples.size(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const auto& sample = found_.samples[id];
    found_.files.read(sample.file, buffer.bytes);
    return {.id = id, .encoding = Encoding::image, .bytes = buffer.bytes, .label = sample.label};
  }

  std::int64_t label(std::uint64_t id) const override { return found_.samples[id].label; }
  std::vector<std::string> classes() const override {
    auto shown = found_.classes;
    for (auto& name : shown) name = as_utf8(name);
    return shown;
  }
  std::string describe(std::uint64_t id) const override { return found_.files.describe(found_.samples[id].file); }
  /// Returns "class/image.jpg".
  std::string name(std::uint64_t id) const override {
    return as_utf8(found_.files.name(found_.samples[id].file).substr(found_.base.size()));
  }
  bool has_split() const override { return found_.has_split; }
  std::string place() const override { return found_.files.describe_folder(found_.base); }
  std::vector<std::string> notes() const override { return found_.notes; }
  std::uint64_t fingerprint() const override {
    std::uint64_t all = 0;
    for (auto& sample : found_.samples) all = fingerprint_of(found_.files.name(sample.file), all);
    return all;
  }
  std::uint64_t version() const override {
    std::uint64_t all = fingerprint();
    for (auto& sample : found_.samples) all = found_.files.version(sample.file, all);
    return all;
  }

 private:
  const ClassSamples found_;
};

}  // namespace

DatasetEntry image_folder_entry() {
  return {
      .name = "image_folder",
      .help =
          "images in one folder per class, in a folder or a .tar; labels follow the sorted folder names, and "
          "validation uses those of training. split: a sub-folder; default: train, or val (else test) to validate, by "
          "their usual names in any case; if there is no such folder, data.val_share makes a split",
      .keys = {split_names_key()},
      .make = [](const Settings& settings, const DatasetInput& input) -> std::unique_ptr<Dataset> {
        return std::make_unique<ImageFolder>(find_class_samples(settings, picture_files, input.training));
      }};
}

}  // namespace flowtrain
