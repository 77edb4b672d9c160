#include "sampling/datasets/class_samples.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "sampling/class_names.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/core/warning.h"

namespace flowtrain {
namespace {

/// Counts files in the classes' folders that are no samples.
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

/// Finds the samples of the class folders.
class SampleSearch {
 public:
  SampleSearch(Files files, ClassFolders place, const FileKind& kind, bool training)
      : kind_(kind), found_{std::move(files), std::move(place.base), place.has_split, std::move(place.notes)} {
    LeftOut left_out;
    // Labels of validation follow training's by name, so training need not know a class without validation samples.
    const bool keeps_empty = training || !found_.has_split;
    const auto beside = find_samples(left_out, keeps_empty);
    if (keeps_empty) add_empty_classes();
    sort_classes();
    auto& classes = found_.classes;
    const auto others = left_out.any() ? left_out.text(classes) : "";
    const auto convert = concat("convert ", kind.many, " of other kinds to ", kind.formats);
    const auto here = found_.files.describe(found_.base);
    if (found_.samples.empty())
      throw EmptyDataset(
          concat(here, ": no ", kind.many, " (", kind.endings, ") in sub-folders", others.empty() ? "" : "; ", others),
          others.empty() ? concat("put the ", kind.many, " of each class into a folder of its own") : convert);
    if (!others.empty()) warn(concat(here, ": ", others, "; ", convert));
    warn_of_names(here);
    if (beside > 0)
      warn(concat(here, ": ", beside, " ", beside == 1 ? kind.one : kind.many, beside == 1 ? " is" : " are",
                  " outside of the class folders, and ", beside == 1 ? "is" : "are", " left out"));
    note_hidden();
    if (training && classes.size() == 1)
      found_.notes.push_back(
          concat("there is only one class, ", classes.front(), ": a net learns nothing from its labels"));
  }

  ClassSamples take() { return std::move(found_); }

 private:
  /// Fills in samples and classes; returns the number of samples outside of the class folders.
  std::size_t find_samples(LeftOut& left_out, bool keeps_empty) {
    std::size_t beside = 0;
    const auto [first, last] = found_.files.range(found_.base);
    for (auto file = first; file < last; ++file) {
      const auto name = found_.files.name(file).substr(found_.base.size());
      const auto slash = name.find('/');
      const bool usable = kind_.fits(name);
      if (slash == name.npos) {
        beside += usable ? 1 : 0;
        continue;
      }
      const auto folder = name.substr(0, slash);
      if (!usable) left_out.add(folder, name);
      if (!usable && !(keeps_empty && kind_.is_foreign(name))) continue;
      if (found_.classes.empty() || found_.classes.back() != folder) found_.classes.emplace_back(folder);
      if (usable)
        found_.samples.push_back(
            {static_cast<std::uint32_t>(file), static_cast<std::int32_t>(found_.classes.size() - 1)});
    }
    return beside;
  }

  /// Adds folders without files as classes, so that labels are equal in splits that lack their samples.
  void add_empty_classes() {
    for (const std::string_view folder : found_.files.empty_folders())
      if (folder.starts_with(found_.base) && folder.size() > found_.base.size() &&
          folder.find('/', found_.base.size()) == folder.npos)
        found_.classes.emplace_back(folder.substr(found_.base.size()));
  }

  /// Sorts the classes: the paths' order is nearly theirs, but "cat-big/1.jpg" comes before "cat/1.jpg".
  void sort_classes() {
    std::vector<std::int32_t> order(found_.classes.size()), label(found_.classes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(
        order, {}, [this](auto label) -> auto& { return found_.classes[label]; });
    for (std::size_t i = 0; i < order.size(); ++i) label[order[i]] = static_cast<std::int32_t>(i);
    for (auto& sample : found_.samples) sample.label = label[sample.label];
    std::ranges::sort(found_.classes);
  }

  /// Warns of names that are probably mistakes: folders without a sample, and names that differ only in case.
  void warn_of_names(const std::string& here) const {
    std::vector<bool> filled(found_.classes.size());
    for (auto& sample : found_.samples) filled[static_cast<std::size_t>(sample.label)] = true;
    std::vector<std::string> empty, alike;
    std::map<std::string, std::size_t> lower;
    for (std::size_t i = 0; i < found_.classes.size(); ++i) {
      if (!filled[i]) empty.push_back(as_utf8(found_.classes[i]));
      const auto [same, is_new] = lower.try_emplace(lower_case(found_.classes[i]), i);
      if (!is_new) alike.push_back(as_utf8(concat(found_.classes[same->second], " and ", found_.classes[i])));
    }
    if (!empty.empty())
      warn(concat(here, ": no ", kind_.one, " is in ", listed_classes(empty),
                  ": it is still a class, so that labels follow the folder names; remove a folder that is no class"));
    if (!alike.empty()) warn(concat(here, ": ", listed_classes(alike), " differ only in case, and are two classes"));
  }

  void note_hidden() {
    std::vector<std::string> hidden;
    for (const std::string_view folder : found_.files.hidden_folders())
      if (folder.starts_with(found_.base) && folder.find('/', found_.base.size()) == folder.npos)
        hidden.push_back(as_utf8(folder.substr(found_.base.size())));
    if (!hidden.empty()) found_.notes.push_back(concat("hidden folders are not read: ", listed_classes(hidden)));
  }

  const FileKind& kind_;
  ClassSamples found_;
};

}  // namespace

ClassSamples find_class_samples(const Settings& settings, const FileKind& kind, bool training) {
  auto files = open_files(settings);
  auto place = find_class_folders(files, kind, settings, training);
  return SampleSearch(std::move(files), std::move(place), kind, training).take();
}

}  // namespace flowtrain
