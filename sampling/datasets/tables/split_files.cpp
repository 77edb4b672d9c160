#include "sampling/datasets/tables/split_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/shards/shard_index.h"
#include "sampling/datasets/split_names.h"
#include "sampling/io/files.h"
#include "sampling/remote/remote.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

class SplitSearch {
 public:
  SplitSearch(const Settings& settings, bool training, std::span<const std::string_view> endings)
      : settings_(settings), training_(training), endings_(endings), folder_(settings.text("path")) {
    std::error_code error;
    for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
      const auto name = it->path().filename().string();
      std::error_code ignored;
      if (is_hidden(name)) continue;
      if (it->is_directory(ignored) && !files_in(it->path()).empty()) folders_.push_back(name);
    }
    if (error) throw settings.error("path", "cannot list " + folder_.string() + ": " + error.message(), ExitCode::data);
    std::ranges::sort(folders_);
    files_ = files_in(folder_);
  }

  SplitFiles run() const {
    if (const auto& split = settings_.text("split"); !split.empty()) return named(split);
    if (auto choice = choose(folders_, "folders")) {
      if (choice->names.size() > 1)
        throw unclear_split(
            settings_, concat(folder_.string(), ": several folders may be one split: ", listed_classes(choice->names)));
      if (training_ && !files_.empty()) choice->notes.push_back(note_on_unused("files", stems()));
      return of_folder(choice->names.front(), choice->has_split, std::move(choice->notes));
    }
    if (files_.empty() && folders_.size() == 1) return of_folder(folders_.front(), false, {});
    if (files_.empty())
      throw settings_.error("path", concat("there is no ", listed_endings(endings_), " in ", folder_.string()),
                            ExitCode::data, "name a file, or a folder that holds some");
    // A folder of .npy files has a tensor in each, so "x_train" and "y_train" are two of one split.
    const bool are_tensors = std::ranges::all_of(files_, [](auto& file) { return ending_of(file) == "npy"; });
    auto choice = choose(stems(), "files", are_tensors);
    if (!choice || !choice->has_split) return {files_, false, folder_.string()};
    SplitFiles found{{}, true, folder_.string(), std::move(choice->notes)};
    for (const auto& file : files_)
      if (std::ranges::find(choice->names, stem_of(file)) != choice->names.end()) found.paths.push_back(file);
    if (found.paths.size() == 1) found.place = found.paths.front();
    return found;
  }

  static std::string listed_endings(std::span<const std::string_view> endings) {
    return join(endings, " or ", [](std::string_view ending) { return concat(".", ending); });
  }

 private:
  static std::string stem_of(const std::string& file) { return fs::path(file).stem().string(); }

  std::vector<std::string> stems() const {
    std::vector<std::string> stems;
    for (const auto& file : files_) stems.push_back(stem_of(file));
    return stems;
  }

  std::optional<SplitChoice> choose(const std::vector<std::string>& names, const char* what,
                                    bool takes_groups = false) const {
    return choose_split(names, folder_.string(), what, settings_, training_, takes_groups);
  }

  std::vector<std::string> files_in(const fs::path& folder) const {
    std::vector<std::string> files;
    std::error_code ignored;
    for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored)) {
      const auto& path = it->path().native();
      std::error_code dangling;
      const auto name = it->path().filename().native();
      const bool fits = std::ranges::find(endings_, ending_of(path)) != endings_.end() && !is_held_out_list(name);
      if (fits && !is_hidden(name) && !it->is_directory(dangling)) files.push_back(path);
    }
    std::ranges::sort(files);
    return files;
  }

  SplitFiles of_folder(const std::string& name, bool has_split, std::vector<std::string> notes) const {
    const auto place = folder_ / name;
    return {files_in(place), has_split, place.string(), std::move(notes)};
  }

  /// Returns the sub-folder or the files that `split` names; a name that differs only in case is taken if no other is.
  SplitFiles named(const std::string& split) const {
    for (const bool any_case : {false, true}) {
      const auto is = [&](const std::string& name) {
        return any_case ? lower_case(name) == lower_case(split) : name == split;
      };
      if (const auto folder = std::ranges::find_if(folders_, is); folder != folders_.end())
        return of_folder(*folder, true, {});
      SplitFiles found{{}, true, folder_.string()};
      for (const auto& file : files_)
        if (is(stem_of(file)) || is(fs::path(file).filename().string())) found.paths.push_back(file);
      if (found.paths.size() == 1) found.place = found.paths.front();
      if (!found.paths.empty()) return found;
    }
    auto there = folders_;
    for (const auto& file : files_) there.push_back(stem_of(file));
    for (auto& name : there) name = as_utf8(name);
    throw settings_.error("split",
                          concat("no file or folder '", split, "' with data in ", folder_.string(),
                                 there.empty() ? "" : "; there are ", listed_classes(there)),
                          ExitCode::data);
  }

  const Settings& settings_;
  bool training_;
  std::span<const std::string_view> endings_;
  fs::path folder_;
  std::vector<std::string> folders_, files_;  ///< names of folders with files, and paths of files, both sorted
};

}  // namespace

SplitFiles find_split_files(const Settings& settings, bool training, std::span<const std::string_view> endings,
                            bool divides_files) {
  const auto& path = settings.text("path");
  const auto known = SplitSearch::listed_endings(endings);
  const std::string hint = "set data.path in the configuration or --set data.path=FILE";
  std::error_code ignored;
  if (path.empty())
    throw settings.error("path", "this data set needs a " + known + ", or a folder of them", ExitCode::data, hint);
  if (!fs::exists(path, ignored)) throw settings.error("path", "no such file or folder: " + path, ExitCode::data, hint);
  if (fs::is_directory(path, ignored)) return SplitSearch(settings, training, endings).run();
  if (!settings.text("split").empty() && !divides_files)
    throw settings.error("split", "only a folder can have splits, but path is: " + path);
  if (std::ranges::find(endings, ending_of(path)) == endings.end())
    throw settings.error("path", concat(path, " is no ", known), ExitCode::data);
  return {{path}, false, path};
}

SplitFiles find_remote_files(const Settings& settings, std::span<const std::string_view> endings) {
  const auto known = SplitSearch::listed_endings(endings);
  const auto& split = settings.text("split");
  SplitFiles found{.paths = find_remote_names(settings, concat("part-{000..127}.", endings.back())),
                   .has_split = !split.empty(),
                   .place = concat(public_name(settings.text("path")), split.empty() ? "" : "/", split)};
  for (const auto& path : found.paths)
    if (std::ranges::find(endings, ending_of(public_name(path))) == endings.end())
      throw settings.error(split.empty() ? "path" : "split",
                           concat(public_name(path), " is no ", known, ", the only files that are read on a server"),
                           ExitCode::data, "copy it to this machine, or name another file");
  return found;
}

}  // namespace flowtrain
