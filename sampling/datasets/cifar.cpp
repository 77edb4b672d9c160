// CIFAR-10 and CIFAR-100 (A. Krizhevsky, 2009) in their binary version, kept in memory. A file is a row of records: one
// label byte (CIFAR-100: coarse, then fine), then 32 x 32 pixels, one plane per colour.

#include <utility>

#include "sampling/class_names.h"
#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/whole_file.h"
#include "sampling/fingerprint.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {
namespace {

constexpr std::size_t picture_side = 32, plane_bytes = picture_side * picture_side, picture_bytes = 3 * plane_bytes;

/// The layout of the files for one kind of label.
struct Layout {
  std::size_t label_bytes;  ///< label bytes before each image
  std::size_t label_at;     ///< index of the label byte that counts
  std::size_t classes;
  const char* names_file;

  std::size_t record_bytes() const { return label_bytes + picture_bytes; }
};

constexpr Layout cifar10{1, 0, 10, "batches.meta.txt"};
constexpr Layout cifar100_coarse{2, 0, 20, "coarse_label_names.txt"};
constexpr Layout cifar100_fine{2, 1, 100, "fine_label_names.txt"};

class Cifar : public Dataset {
 public:
  Cifar(const Files& files, const std::vector<std::size_t>& parts, const Layout& layout,
        std::vector<std::string> classes)
      : classes_(std::move(classes)) {
    for (const auto part : parts) add(read_whole(files, part), files.describe(part), layout);
  }

  std::uint64_t size() const override { return labels_.size(); }

  Record read(std::uint64_t id, ReadBuffer&) const override {
    return {.id = id,
            .encoding = Encoding::pixels,
            .bytes = std::span(pixels_).subspan(id * picture_bytes, picture_bytes),
            .height = picture_side,
            .width = picture_side,
            .channels = 3,
            .label = labels_[id]};
  }

  std::int64_t label(std::uint64_t id) const override { return labels_[id]; }
  std::vector<std::string> classes() const override { return classes_; }
  std::string describe(std::uint64_t id) const override {
    auto part = parts_.begin();
    while (part + 1 != parts_.end() && (part + 1)->first <= id) ++part;
    return part->name + " #" + std::to_string(id - part->first);
  }
  bool resident() const override { return true; }
  std::uint64_t fingerprint() const override {
    return fingerprint_of(std::as_bytes(std::span(labels_)), fingerprint_of(std::span(pixels_)));
  }

 private:
  struct Part {
    std::string name;
    std::uint64_t first;  ///< id of its first record
  };

  void add(const std::vector<std::byte>& file, const std::string& name, const Layout& layout) {
    const auto fault = [&](const std::string& what) {
      return UserError(ExitCode::data, name + what, "fetch the file again");
    };
    if (file.empty() || file.size() % layout.record_bytes() != 0)
      throw fault(concat(": ", file.size(), " bytes, expected a multiple of ", layout.record_bytes(),
                         ", the size of a record"));
    parts_.push_back({name, size()});
    pixels_.reserve(pixels_.size() + file.size());
    for (std::size_t at = 0; at < file.size(); at += layout.record_bytes()) {
      const auto label = std::to_integer<std::uint8_t>(file[at + layout.label_at]);
      if (label >= layout.classes)
        throw fault(
            concat(" #", at / layout.record_bytes(), ": label ", int{label}, ", expected 0 to ", layout.classes - 1));
      labels_.push_back(label);
      const auto* planes = file.data() + at + layout.label_bytes;
      for (std::size_t pixel = 0; pixel < plane_bytes; ++pixel)
        for (std::size_t color = 0; color < 3; ++color) pixels_.push_back(planes[color * plane_bytes + pixel]);
    }
  }

  std::vector<std::byte> pixels_;  ///< (n, 32, 32, 3)
  std::vector<std::uint8_t> labels_;
  std::vector<std::string> classes_;
  std::vector<Part> parts_;
};

/// Finds which of the two sets the files hold.
Layout layout_of(const Files& files, const Settings& settings) {
  if (files.find("test_batch.bin") || files.find("data_batch_1.bin")) {
    if (settings.text("labels") == "coarse")
      throw settings.error("labels", "only CIFAR-100 has two kinds of labels, but this is CIFAR-10", ExitCode::usage,
                           "remove data.labels");
    return cifar10;
  }
  if (files.find("train.bin") || files.find("test.bin"))
    return settings.text("labels") == "coarse" ? cifar100_coarse : cifar100_fine;
  throw settings.error("path",
                       "neither CIFAR-10 (data_batch_1.bin …) nor CIFAR-100 (train.bin) is in " + settings.text("path"),
                       ExitCode::data, "name the folder that holds the .bin files");
}

/// Returns the split's files.
std::vector<std::size_t> parts_of(const Files& files, const Settings& settings, bool training, bool is_cifar10) {
  auto split = usual_split(settings.text("split"));
  if (split.empty()) split = training ? "train" : "test";
  if (split != "train" && split != "test")
    throw settings.error("split", "cifar has no split " + to_toml(settings.value("split")), ExitCode::usage,
                         "set train or test");
  std::vector<std::string> names{split + ".bin"};
  if (is_cifar10 && split == "test") names = {"test_batch.bin"};
  if (is_cifar10 && split == "train")
    names = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};

  std::vector<std::size_t> parts;
  for (const auto& name : names) {
    const auto found = files.find(name);
    if (!found)
      throw settings.error("path", "no " + name + " in " + settings.text("path"), ExitCode::data,
                           "name the folder that holds all .bin files");
    parts.push_back(*found);
  }
  return parts;
}

/// Returns the names that come with the files, one per line; without them, the labels' numbers.
std::vector<std::string> class_names(const Files& files, const Layout& layout) {
  const auto found = files.find(layout.names_file);
  if (!found) return numbered_classes(layout.classes);
  const auto bytes = read_whole(files, *found);
  std::vector<std::string> names;
  for (const auto name :
       text_lines({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, files.describe(*found)))
    if (!name.empty()) names.emplace_back(name);
  if (names.size() != layout.classes)
    throw UserError(ExitCode::data,
                    concat(files.describe(*found), ": ", names.size(), " names for ", layout.classes, " classes"),
                    "fetch the file again, or remove it to have no names");
  return names;
}

std::unique_ptr<Dataset> make_cifar(const Settings& settings, const DatasetInput& input) {
  const auto files = open_files(settings);
  const auto layout = layout_of(files, settings);
  const auto parts = parts_of(files, settings, input.training, layout.classes == cifar10.classes);
  return std::make_unique<Cifar>(files, parts, layout, class_names(files, layout));
}

}  // namespace

DatasetEntry cifar_entry() {
  Key labels{"labels", Kind::text, "fine", "kind of labels of CIFAR-100: fine (100 classes) or coarse (20)"};
  labels.choices = {"fine", "coarse"};
  return {.name = "cifar",
          .help = "CIFAR-10 or CIFAR-100, binary version, kept in memory. split: train or test",
          .keys = {labels},
          .make = make_cifar};
}

}  // namespace flowtrain
