#include "sampling/datasets/class_folders.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sampling/class_names.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/split_names.h"

namespace flowtrain {
namespace {

using Texts = std::vector<std::string>;

/// Returns the deepest folder that holds all samples: "", or ending in a slash.
std::string common_folder(const Files& files, const FileKind& kind) {
  std::string common;
  bool first = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto name = files.name(i);
    if (!kind.fits(name)) continue;
    if (first) common = name;
    first = false;
    const auto end = std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first;
    common.erase(end, common.end());
  }
  common.erase(common.rfind('/') + 1);
  return common;
}

/// Returns every folder on the way to `common`, from the outermost on.
Texts levels_to(const std::string& common) {
  Texts levels{""};
  for (auto slash = common.find('/'); slash != common.npos; slash = common.find('/', slash + 1))
    levels.push_back(common.substr(0, slash + 1));
  return levels;
}

Texts lower_cased(Texts names) {
  for (auto& name : names) name = lower_case(name);
  return names;
}

class Search {
 public:
  Search(const Files& files, const FileKind& kind, const Settings& settings, bool training)
      : files_(files), kind_(kind), settings_(settings), training_(training), common_(common_folder(files, kind)) {}

  ClassFolders run() {
    if (const auto& split = settings_.text("split"); !split.empty()) return named(split);
    const auto mode = split_names_of(settings_);
    if (mode != SplitNames::ignore)
      if (const auto level = level_of_splits()) return choose(level->first, level->second, mode);
    ClassFolders found{base_without_splits()};
    if (mode == SplitNames::decide) refuse_splits_below(found.base);
    return found;
  }

 private:
  Texts folders_in(const std::string& outer) const { return sample_folders(files_, kind_, outer); }
  bool holds_classes(const std::string& base) const { return !folders_in(base).empty(); }

  /// Returns the folder that the key `split` names; one that differs only in case is taken if there is no other.
  ClassFolders named(const std::string& split) const {
    Texts there;
    for (const auto& outer : levels_to(common_)) {
      const auto [first, last] = files_.range(outer + split + '/');
      if (first < last) return {descend(outer + split + '/'), true};
      const auto folders = folders_in(outer), lower = lower_cased(folders);
      const auto found = std::ranges::find(lower, lower_case(split));
      if (std::ranges::count(lower, lower_case(split)) == 1)
        return {descend(outer + folders[static_cast<std::size_t>(found - lower.begin())] + '/'), true};
      there.insert(there.end(), folders.begin(), folders.end());
    }
    for (auto& folder : there) folder = as_utf8(folder);
    throw settings_.error("split",
                          concat("no folder '", split, "' with files in ", settings_.text("path"),
                                 there.empty() ? "" : "; there are ", listed_classes(there)),
                          ExitCode::data);
  }

  /// Returns the outermost level whose splits are complete, or else the outermost one with any.
  std::optional<std::pair<std::string, Splits>> level_of_splits() const {
    std::optional<std::pair<std::string, Splits>> best;
    for (const auto& outer : levels_to(common_)) {
      auto splits = find_splits(folders_in(outer));
      if (splits.any() && (!best || splits.is_complete())) best.emplace(outer, std::move(splits));
      if (best && best->second.is_complete()) break;
    }
    return best;
  }

  ClassFolders choose(const std::string& outer, const Splits& splits, SplitNames mode) const {
    const bool decides = mode == SplitNames::decide;
    if (splits.groups > 1)
      throw unclear_split(settings_,
                          concat(files_.describe_folder(outer), " holds several groups of splits: ", listed(splits)));
    const auto lead = listed(splits);
    const bool alone = !splits.is_complete();
    const bool flat = !splits.training.empty() && !holds_classes(outer + splits.training.front() + '/');
    if (decides && !splits.others.empty() && (alone || flat))
      throw unclear_split(settings_,
                          concat(files_.describe_folder(outer), ": ", lead, " may be a split, or a class as are ",
                                 listed_classes(shown_names(splits.others))));
    if (decides && flat)
      throw unclear_split(settings_, concat(files_.describe_folder(outer), ": ", lead,
                                            alone ? " may be a split without folders of classes, or the only class"
                                                  : " may be splits without folders of classes, or classes"));
    if (splits.training.empty() && training_)
      throw unclear_split(
          settings_, concat(files_.describe_folder(outer), ": there is ", lead, ", but no folder 'train' beside it"));
    ClassFolders found;
    const auto train = splits.training.empty() ? "" : one_of(outer, splits.training, "train");
    const auto test = splits.test.empty() ? "" : one_of(outer, splits.test, "test");
    const bool validates = !splits.validation.empty();
    const bool tests = !validates && !test.empty() && (train.empty() || shares_classes(train, test));
    found.has_split = validates || tests;
    found.base = training_ || !found.has_split ? train : validates ? one_of(outer, splits.validation, "val") : test;
    if (training_) found.notes = notes_on(outer, splits, test, tests, found.base);
    return found;
  }

  /// Returns the base of the one folder among `names`; of several one must have the `usual` name.
  std::string one_of(const std::string& outer, const Texts& names, const char* usual) const {
    if (names.size() > 1 && std::ranges::find(names, usual) == names.end())
      throw unclear_split(settings_, concat("several folders of ", files_.describe_folder(outer), " may be the split '",
                                            usual, "': ", listed_classes(shown_names(names))));
    return descend(outer + (names.size() > 1 ? usual : names.front()) + '/');
  }

  /// Descends into folders of the split's own name, which some archives have: seg_train/seg_train/cat.
  std::string descend(std::string base) const {
    for (;;) {
      const auto folders = folders_in(base);
      const auto begin = base.rfind('/', base.size() - 2) + 1;  // 0 if there is no other slash
      const auto own = base.substr(begin, base.size() - 1 - begin);
      if (folders.size() != 1 || lower_case(folders.front()) != lower_case(own)) return base;
      if (!holds_classes(base + folders.front() + '/')) return base;
      base += folders.front() + '/';
    }
  }

  /// Returns whether the splits share a class folder's name; otherwise the samples of `test` have no labels.
  bool shares_classes(const std::string& train, const std::string& test) const {
    const auto classes = folders_in(train);
    return std::ranges::any_of(folders_in(test), [&](auto& name) { return std::ranges::binary_search(classes, name); });
  }

  Texts notes_on(const std::string& outer, const Splits& splits, const std::string& test, bool test_validates,
                 const std::string& base) const {
    Texts notes, unused;
    const auto samples = test.empty() ? 0 : samples_in(test);
    if (!test.empty() && !test_validates)
      notes.push_back(concat("test data: ", files_.describe_folder(test), " (", samples, " ",
                             samples == 1 ? kind_.one : kind_.many, "); the run does not use it",
                             shares_classes(base, test) ? ", `flowtrain test` does with data.test.split = " +
                                                              to_toml(as_utf8(splits.test.front()))
                                                        : ": it has no folders of these classes"));
    if (test_validates) notes.push_back(note_on_test(files_.describe_folder(test)));
    unused = splits.others;
    for (const auto* list : {&splits.training, &splits.validation, &splits.test})
      for (const auto& name : *list)
        if (list->size() > 1 && name != "train" && name != "val" && name != "test") unused.push_back(name);
    if (!unused.empty())
      notes.push_back(concat("not used: ", listed_classes(shown_names(unused)), " in ", files_.describe_folder(outer)));
    return notes;
  }

  std::size_t samples_in(const std::string& folder) const {
    const auto [first, last] = files_.range(folder);
    std::size_t samples = 0;
    for (auto file = first; file < last; ++file) samples += kind_.fits(files_.name(file)) ? 1 : 0;
    return samples;
  }

  static Texts shown_names(Texts names) {
    for (auto& name : names) name = as_utf8(name);
    return names;
  }

  static std::string listed(const Splits& splits) {
    Texts all = splits.training;
    all.insert(all.end(), splits.validation.begin(), splits.validation.end());
    all.insert(all.end(), splits.test.begin(), splits.test.end());
    return listed_classes(shown_names(all));
  }

  /// Returns the common folder, whose folders are the classes, unless it is itself the only class.
  std::string base_without_splits() const {
    if (holds_classes(common_)) return common_;
    const auto slash = common_.size() < 2 ? common_.npos : common_.rfind('/', common_.size() - 2);
    return slash == common_.npos ? "" : common_.substr(0, slash + 1);
  }

  /// Refuses splits below the classes: training on all samples would use the test samples.
  void refuse_splits_below(const std::string& base) const {
    for (const auto& name : folders_in(base)) {
      const auto splits = find_splits(folders_in(base + name + '/'));
      if (!splits.is_complete()) continue;
      throw settings_.error("path",
                            concat(files_.describe_folder(base + name), " has folders named after splits: ",
                                   listed(splits), "; splits must be above the classes"),
                            ExitCode::data,
                            "put the classes below the splits, as train/" + as_utf8(name) + "; " + settings_.table() +
                                ".split_names = \"ignore\" uses all these " + kind_.many + " for training");
    }
  }

  const Files& files_;
  const FileKind& kind_;
  const Settings& settings_;
  bool training_;
  std::string common_;
};

}  // namespace

std::vector<std::string> sample_folders(const Files& files, const FileKind& kind, const std::string& outer) {
  Texts folders;
  const auto [first, last] = files.range(outer);
  for (auto file = first; file < last;) {
    const auto name = files.name(file).substr(outer.size());
    const auto slash = name.find('/');
    if (slash == name.npos) {
      ++file;
      continue;
    }
    const std::string folder(name.substr(0, slash));
    const auto end = files.range(outer + folder + '/').second;
    while (file < end && !kind.fits(files.name(file))) ++file;
    if (file < end) folders.push_back(folder);
    file = end;
  }
  std::ranges::sort(folders);  // the paths' order has "cat-big/1.jpg" before "cat/1.jpg"
  return folders;
}

ClassFolders find_class_folders(const Files& files, const FileKind& kind, const Settings& settings, bool training) {
  return Search(files, kind, settings, training).run();
}

}  // namespace flowtrain
