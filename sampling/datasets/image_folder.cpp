// The `image_folder` data set: images in one folder per class: path/[split/]class/…/x.jpg. Labels are those of
// torchvision's ImageFolder: the positions of the sorted folder names. A folder with files, but no image, is no class.

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/core/warning.h"
#include "sampling/datasets/class_folders.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"
#include "sampling/fingerprint.h"
#include "sampling/io/files.h"
#include "sampling/named_dataset.h"

namespace flowtrain {
namespace {

/// Counts files in the classes' folders that are no images.
class LeftOut {
 public:
  /// Adds a file; files come folder by folder.
  void add(std::string_view folder, std::string_view name) {
    ++files_;
    ++endings_[ending_of(name)];
    if (folders_.empty() || folders_.back() != folder) folders_.emplace_back(folder);
  }
  bool any() const { return files_ > 0; }

  /// Returns "120 files of other kinds left out: 80 .bmp, 40 .tiff", and which of their folders are not in `classes`.
  std::string text(const std::vector<std::string>& classes) const {
    auto folders = folders_;
    std::erase_if(folders, [&](auto& folder) { return std::ranges::binary_search(classes, folder); });
    for (auto& folder : folders) folder = as_utf8(folder);
    return concat(files_, files_ == 1 ? " file of another kind" : " files of other kinds", " left out: ", kinds(),
                  folders.empty() ? "" : "; folders that hold nothing else are no classes: ", listed_classes(folders));
  }

 private:
  /// Lists the most frequent kinds first.
  std::string kinds() const {
    constexpr std::size_t most = 5;
    std::vector<std::pair<std::uint64_t, std::string>> kinds;
    for (auto& [ending, files] : endings_)
      kinds.emplace_back(files, ending.empty() ? "without ending" : "." + as_utf8(ending));
    std::ranges::stable_sort(kinds, std::ranges::greater(), &std::pair<std::uint64_t, std::string>::first);
    const auto list = join(std::span(kinds).first(std::min(most, kinds.size())), ", ",
                           [](const auto& kind) { return concat(kind.first, " ", kind.second); });
    return kinds.size() > most ? list + ", …" : list;
  }

  std::uint64_t files_ = 0;
  std::map<std::string, std::uint64_t> endings_;
  std::vector<std::string> folders_;
};

class ImageFolder : public NamedDataset {
 public:
  ImageFolder(Files files, ClassFolders place, bool training)
      : files_(std::move(files)),
        base_(std::move(place.base)),
        has_split_(place.has_split),
        notes_(std::move(place.notes)) {
    LeftOut left_out;
    // Labels of validation follow training's by name, so training need not know a class without validation samples.
    const bool keeps_empty = training || !has_split_;
    const auto beside = find_samples(left_out, keeps_empty);
    if (keeps_empty) add_empty_classes();
    sort_classes();
    const auto others = left_out.any() ? left_out.text(classes_) : "";
    constexpr const char* convert = "convert images of other kinds to PNG or JPEG";
    const auto here = files_.describe(base_);
    if (samples_.empty())
      throw EmptyDataset(
          concat(here, ": no images (", picture_endings, ") in sub-folders", others.empty() ? "" : "; ", others),
          others.empty() ? "put the images of each class into a folder of its own" : convert);
    if (!others.empty()) warn(concat(here, ": ", others, "; ", convert));
    warn_of_names(here);
    if (beside > 0)
      warn(concat(here, ": ", beside, beside == 1 ? " image is" : " images are", " outside of the class folders, and ",
                  beside == 1 ? "is" : "are", " left out"));
    note_hidden();
    if (training && classes_.size() == 1)
      notes_.push_back(concat("there is only one class, ", classes_.front(), ": a net learns nothing from its labels"));
  }

  std::uint64_t size() const override { return samples_.size(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    files_.read(samples_[id].file, buffer.bytes);
    return {.id = id, .encoding = Encoding::image, .bytes = buffer.bytes, .label = samples_[id].label};
  }

  std::int64_t label(std::uint64_t id) const override { return samples_[id].label; }
  std::vector<std::string> classes() const override {
    auto shown = classes_;
    for (auto& name : shown) name = as_utf8(name);
    return shown;
  }
  std::string describe(std::uint64_t id) const override { return files_.describe(samples_[id].file); }
  /// Returns "class/image.jpg".
  std::string name(std::uint64_t id) const override {
    return as_utf8(files_.name(samples_[id].file).substr(base_.size()));
  }
  bool has_split() const override { return has_split_; }
  std::string place() const override { return files_.describe_folder(base_); }
  std::vector<std::string> notes() const override { return notes_; }
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

  /// Fills samples_ and classes_; returns the number of images outside of the class folders.
  std::size_t find_samples(LeftOut& left_out, bool keeps_empty) {
    std::size_t beside = 0;
    const auto [first, last] = files_.range(base_);
    for (auto file = first; file < last; ++file) {
      const auto name = files_.name(file).substr(base_.size());
      const auto slash = name.find('/');
      const bool usable = is_picture(name);
      if (slash == name.npos) {
        beside += usable ? 1 : 0;
        continue;
      }
      const auto folder = name.substr(0, slash);
      if (!usable) left_out.add(folder, name);
      if (!usable && !(keeps_empty && is_other_picture(name))) continue;
      if (classes_.empty() || classes_.back() != folder) classes_.emplace_back(folder);
      if (usable)
        samples_.push_back({static_cast<std::uint32_t>(file), static_cast<std::int32_t>(classes_.size() - 1)});
    }
    return beside;
  }

  /// Adds folders without files as classes, so that labels are equal in splits that lack their images.
  void add_empty_classes() {
    for (const std::string_view folder : files_.empty_folders())
      if (folder.starts_with(base_) && folder.size() > base_.size() && folder.find('/', base_.size()) == folder.npos)
        classes_.emplace_back(folder.substr(base_.size()));
  }

  /// Sorts the classes: the paths' order is nearly theirs, but "cat-big/1.jpg" comes before "cat/1.jpg".
  void sort_classes() {
    std::vector<std::int32_t> order(classes_.size()), label(classes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(
        order, {}, [this](auto label) -> auto& { return classes_[label]; });
    for (std::size_t i = 0; i < order.size(); ++i) label[order[i]] = static_cast<std::int32_t>(i);
    for (auto& sample : samples_) sample.label = label[sample.label];
    std::ranges::sort(classes_);
  }

  /// Warns of names that are probably mistakes: folders without an image, and names that differ only in case.
  void warn_of_names(const std::string& here) const {
    std::vector<bool> filled(classes_.size());
    for (auto& sample : samples_) filled[static_cast<std::size_t>(sample.label)] = true;
    std::vector<std::string> empty, alike;
    std::map<std::string, std::size_t> lower;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      if (!filled[i]) empty.push_back(as_utf8(classes_[i]));
      const auto [same, is_new] = lower.try_emplace(lower_case(classes_[i]), i);
      if (!is_new) alike.push_back(as_utf8(concat(classes_[same->second], " and ", classes_[i])));
    }
    if (!empty.empty())
      warn(concat(here, ": no image is in ", listed_classes(empty),
                  ": it is still a class, so that labels follow the folder names; remove a folder that is no class"));
    if (!alike.empty()) warn(concat(here, ": ", listed_classes(alike), " differ only in case, and are two classes"));
  }

  void note_hidden() {
    std::vector<std::string> hidden;
    for (const std::string_view folder : files_.hidden_folders())
      if (folder.starts_with(base_) && folder.find('/', base_.size()) == folder.npos)
        hidden.push_back(as_utf8(folder.substr(base_.size())));
    if (!hidden.empty()) notes_.push_back(concat("hidden folders are not read: ", listed_classes(hidden)));
  }

  Files files_;
  std::string base_;
  bool has_split_;
  std::vector<std::string> notes_;
  std::vector<std::string> classes_;  ///< names of the folders
  std::vector<Sample> samples_;
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
        auto files = open_files(settings);
        auto place = find_class_folders(files, settings, input.training);
        return std::make_unique<ImageFolder>(std::move(files), std::move(place), input.training);
      }};
}

}  // namespace flowtrain
