// The `idx` data set: MNIST and its family (Fashion-MNIST, KMNIST …), two IDX files of images and labels in memory.

#include <algorithm>

#include "sampling/class_names.h"
#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/idx_file.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/whole_file.h"
#include "sampling/fingerprint.h"

namespace flowtrain {
namespace {

class Idx : public Dataset {
 public:
  /// `images`: (n, height, width) or (n, height, width, channels); `labels`: (n), each below the number of classes.
  Idx(IdxFile images, IdxFile labels, std::vector<std::string> classes, std::string name)
      : images_(std::move(images)), labels_(std::move(labels)), classes_(std::move(classes)), name_(std::move(name)) {}

  std::uint64_t size() const override { return images_.shape[0]; }

  Record read(std::uint64_t id, ReadBuffer&) const override {
    const auto picture_bytes = images_.values().size() / size();
    return {.id = id,
            .encoding = Encoding::pixels,
            .bytes = images_.values().subspan(id * picture_bytes, picture_bytes),
            .height = static_cast<std::uint32_t>(images_.shape[1]),
            .width = static_cast<std::uint32_t>(images_.shape[2]),
            .channels = images_.shape.size() == 4 ? static_cast<std::uint32_t>(images_.shape[3]) : 1,
            .label = label(id)};
  }

  std::int64_t label(std::uint64_t id) const override { return std::to_integer<std::int64_t>(labels_.values()[id]); }
  std::vector<std::string> classes() const override { return classes_; }
  std::string describe(std::uint64_t id) const override { return name_ + " #" + std::to_string(id); }
  bool resident() const override { return true; }
  std::uint64_t fingerprint() const override {
    return fingerprint_of(labels_.values(), fingerprint_of(images_.values()));
  }

 private:
  IdxFile images_, labels_;
  std::vector<std::string> classes_;
  std::string name_;
};

/// Returns the name before "-images-idx3-ubyte" of the split's files.
std::string prefix_of(const Settings& settings, bool training) {
  const auto split = usual_split(settings.text("split"));
  if (split == "train" || (split.empty() && training)) return "train";
  if (split == "test" || split.empty()) return "t10k";
  throw settings.error("split", "idx has no split " + to_toml(settings.value("split")), ExitCode::usage,
                       "set train or test; data.images and data.labels name other files");
}

/// Returns the file that `key` names, or else `usual`, packed or not.
std::size_t find_file(const Files& files, const Settings& settings, const std::string& key, const std::string& usual) {
  const bool chosen = !settings.text(key).empty();  // config.toml of a run has "" if none was chosen
  const auto& name = chosen ? settings.text(key) : usual;
  auto found = files.find(name);
  if (!found) found = files.find(name + ".gz");
  if (!found)
    throw settings.error(chosen ? key : "path", "no " + name + " or " + name + ".gz in " + settings.text("path"),
                         ExitCode::data, "check data.path, or name the file with data." + key);
  return *found;
}

void check_images(const std::vector<std::uint64_t>& shape, const std::string& name) {
  if (shape.size() != 3 && shape.size() != 4)
    throw UserError(ExitCode::data, name + ": its shape is " + shape_text(shape) +
                                        ", expected images x height x width, or images x height x width x channels");
  if (std::ranges::find(shape, 0u) != shape.end())
    throw EmptyDataset(name + ": the file holds no images: its shape is " + shape_text(shape));
  if (shape.size() == 4 && shape[3] > 4)
    throw UserError(ExitCode::data, name + ": " + std::to_string(shape[3]) + " channels, expected 1 to 4");
}

/// Returns the classes' names: those given, or as many numbers as the largest label requires.
std::vector<std::string> class_names(const Settings& settings, const IdxFile& labels, const std::string& name) {
  const auto values = labels.values();
  const auto largest = std::ranges::max_element(values);
  const auto classes = std::to_integer<std::size_t>(*largest) + 1;
  auto names = given_class_names(settings);
  if (names.empty()) names = numbered_classes(classes);
  if (names.size() < classes)
    throw settings.error("class_names",
                         concat("names ", names.size(), " classes, but ", name, " #", largest - values.begin(),
                                " has label ", classes - 1),
                         ExitCode::data);
  return names;
}

std::unique_ptr<Dataset> make_idx(const Settings& settings, const DatasetInput& input) {
  const auto prefix = prefix_of(settings, input.training);
  const auto files = open_files(settings);
  const auto images_at = find_file(files, settings, "images", prefix + "-images-idx3-ubyte");
  const auto labels_at = find_file(files, settings, "labels", prefix + "-labels-idx1-ubyte");
  const auto images_name = files.describe(images_at), labels_name = files.describe(labels_at);
  auto images = parse_idx(read_whole(files, images_at), images_name);
  check_images(images.shape, images_name);
  auto labels = parse_idx(read_whole(files, labels_at), labels_name);
  if (labels.shape.size() != 1)
    throw UserError(ExitCode::data,
                    labels_name + ": its shape is " + shape_text(labels.shape) + ", expected one dimension");
  if (labels.shape[0] != images.shape[0])
    throw UserError(
        ExitCode::data,
        concat(labels_name, ": ", labels.shape[0], " labels for the ", images.shape[0], " images of ", images_name),
        "take both files from the same set");
  auto classes = class_names(settings, labels, labels_name);
  return std::make_unique<Idx>(std::move(images), std::move(labels), std::move(classes), images_name);
}

}  // namespace

DatasetEntry idx_entry() {
  return {.name = "idx",
          .help =
              "MNIST's format: IDX files of images and labels, .gz or unpacked, kept in memory. split: train or "
              "test",
          .keys = {{"images", Kind::text, "", "file of the images; default: train-images-idx3-ubyte[.gz] or t10k-…"},
                   {"labels", Kind::text, "", "file of the labels; default: train-labels-idx1-ubyte[.gz] or t10k-…"},
                   {"class_names", Kind::texts, std::vector<std::string>(),
                    "names of the classes, in label order; default: 0, 1, 2 …"}},
          .make = make_idx};
}

}  // namespace flowtrain
