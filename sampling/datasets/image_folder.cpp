// Pictures in one folder per class: path/[split/]class/…/x.jpg. Labels are those of torchvision's ImageFolder: the
// places of the folders' sorted names.

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "sampling/class_names.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/entries.h"
#include "sampling/fingerprint.h"
#include "sampling/io/files.h"
#include "sampling/named_dataset.h"

namespace flowtrain {
namespace {

/// Files in the classes' folders that are no pictures.
class LeftOut {
 public:
  /// Files come folder by folder.
  void add(std::string_view folder, std::string_view name) {
    ++files_;
    ++endings_[ending_of(name)];
    if (folders_.empty() || folders_.back() != folder) folders_.emplace_back(folder);
  }
  bool any() const { return files_ > 0; }

  /// "120 files of other kinds left out: 80 .bmp, 40 .tiff", and which of their folders are none of `classes`.
  std::string text(const std::vector<std::string>& classes) const {
    auto folders = folders_;
    std::erase_if(folders, [&](auto& folder) { return std::ranges::binary_search(classes, folder); });
    return concat(
        files_, files_ == 1 ? " file of another kind" : " files of other kinds", " left out: ", kinds(),
        folders.empty() ? "" : "; of folders that hold nothing else no class is made: ", listed_classes(folders));
  }

 private:
  /// The most frequent ones first.
  std::string kinds() const {
    constexpr std::size_t most = 5;
    std::vector<std::pair<std::uint64_t, std::string>> kinds;
    for (auto& [ending, files] : endings_) kinds.emplace_back(files, ending.empty() ? "without ending" : "." + ending);
    std::ranges::stable_sort(kinds, std::ranges::greater(), &std::pair<std::uint64_t, std::string>::first);
    const auto list = join(std::span(kinds).first(std::min(most, kinds.size())), ", ",
                           [](const auto& kind) { return concat(kind.first, " ", kind.second); });
    return kinds.size() > most ? list + ", …" : list;
  }

  std::uint64_t files_ = 0;
  std::map<std::string, std::uint64_t> endings_;
  std::vector<std::string> folders_;
};

/// The folder that holds the classes' folders.
struct Base {
  std::string folder;     ///< empty, or ending in a slash
  bool is_split = false;  ///< the folder of one split
};

class ImageFolder : public NamedDataset {
 public:
  ImageFolder(Files files, Base place)
      : files_(std::move(files)), base_bytes_(place.folder.size()), is_split_(place.is_split) {
    const std::string& base = place.folder;
    const auto [first, last] = files_.range(base);
    LeftOut left_out;
    for (auto file = first; file < last; ++file) {
      const auto name = files_.name(file).substr(base.size());
      const auto slash = name.find('/');
      if (slash == name.npos) continue;
      const auto folder = name.substr(0, slash);
      if (!is_picture(name)) {
        left_out.add(folder, name);
        continue;
      }
      if (classes_.empty() || classes_.back() != folder) classes_.emplace_back(folder);
      samples_.push_back({static_cast<std::uint32_t>(file), static_cast<std::int32_t>(classes_.size() - 1)});
    }
    sort_classes();
    const auto others = left_out.any() ? left_out.text(classes_) : "";
    constexpr const char* convert = "convert pictures of other kinds to PNG or JPEG";
    if (samples_.empty())
      throw EmptyDataset(concat(files_.describe(base), ": no pictures (", picture_endings, ") in sub-folders",
                                others.empty() ? "" : "; ", others),
                         others.empty() ? "put the pictures of each class into a folder of its own" : convert);
    if (!others.empty()) warn(concat(files_.describe(base), ": ", others, "; ", convert));
  }

  std::uint64_t size() const override { return samples_.size(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    files_.read(samples_[id].file, buffer.bytes);
    return {.id = id, .encoding = Encoding::image, .bytes = buffer.bytes, .label = samples_[id].label};
  }

  std::int64_t label(std::uint64_t id) const override { return samples_[id].label; }
  std::vector<std::string> classes() const override { return classes_; }
  std::string describe(std::uint64_t id) const override { return files_.describe(samples_[id].file); }
  /// "class/picture.jpg".
  std::string name(std::uint64_t id) const override {
    return std::string(files_.name(samples_[id].file).substr(base_bytes_));
  }
  bool has_split() const override { return is_split_; }
  std::uint64_t fingerprint() const override {
    std::uint64_t all = 0;
    for (auto& sample : samples_) all = fingerprint_of(files_.name(sample.file), all);
    return all;
  }

 private:
  struct Sample {
    std::uint32_t file;
    std::int32_t label;
  };

  /// The paths' order is nearly that of the classes, but "cat-big/1.jpg" comes before "cat/1.jpg".
  void sort_classes() {
    std::vector<std::int32_t> order(classes_.size()), label(classes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(
        order, {}, [this](auto label) -> auto& { return classes_[label]; });
    for (std::size_t i = 0; i < order.size(); ++i) label[order[i]] = static_cast<std::int32_t>(i);
    for (auto& sample : samples_) sample.label = label[sample.label];
    std::ranges::sort(classes_);
  }

  Files files_;
  std::size_t base_bytes_;
  bool is_split_;
  std::vector<std::string> classes_;
  std::vector<Sample> samples_;
};

/// The deepest folder that holds all pictures: "", or ending in a slash.
std::string common_folder(const Files& files) {
  std::string common;
  bool first = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto name = files.name(i);
    if (!is_picture(name)) continue;
    if (first) common = name;
    first = false;
    const auto end = std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first;
    common.erase(end, common.end());
  }
  common.erase(common.rfind('/') + 1);
  return common;
}

bool has_folder(const Files& files, const std::string& name) {
  const auto [first, last] = files.range(name + '/');
  return first < last;
}

/// Archives often wrap everything in one folder more, which is looked into.
Base find_base(const Files& files, const Settings& settings, bool training) {
  const auto& split = settings.text("split");
  auto wanted = training ? std::vector<std::string>{"train"} : std::vector<std::string>{"val", "test"};
  if (!split.empty()) wanted = {split};
  auto common = common_folder(files);
  for (std::size_t slash = 0; slash != common.npos; slash = common.find('/', slash + 1)) {
    const auto outer = slash == 0 ? "" : common.substr(0, slash + 1);
    for (const auto& name : wanted)
      if (has_folder(files, outer + name)) return {outer + name + '/', true};
    if (!split.empty()) continue;
    for (const std::string other : {"train", "val", "test"})
      if (has_folder(files, outer + other))
        throw settings.error("path",
                             "there is '" + files.describe(outer + other) + "', but no folder " +
                                 (training ? "'train'" : "'val' or 'test'") + " beside it",
                             ExitCode::data,
                             "name the folder with split; data.val_share makes a split of the training data");
  }
  if (!split.empty())
    throw settings.error("split", "no folder '" + split + "' with files in " + settings.text("path"), ExitCode::data);
  // Without splits the classes are the folders in the common one, unless that is itself the only class.
  const auto [first, last] = files.range(common);
  for (auto file = first; file < last; ++file)
    if (is_picture(files.name(file)) && files.name(file).find('/', common.size()) != std::string::npos) return {common};
  const auto slash = common.size() < 2 ? common.npos : common.rfind('/', common.size() - 2);
  return {slash == common.npos ? "" : common.substr(0, slash + 1)};
}

}  // namespace

DatasetEntry image_folder_entry() {
  return {
      .name = "image_folder",
      .help =
          "pictures in one folder per class, in a folder or a .tar; labels follow the sorted folder names, and "
          "those of validation are training's. split: a sub-folder; default train, or val (test) to validate; where "
          "there is neither, data.val_share makes a split",
      .keys = {},
      .make = [](const Settings& settings, const DatasetInput& input) -> std::unique_ptr<Dataset> {
        auto files = open_files(settings);
        auto base = find_base(files, settings, input.training);
        return std::make_unique<ImageFolder>(std::move(files), std::move(base));
      }};
}

}  // namespace flowtrain
