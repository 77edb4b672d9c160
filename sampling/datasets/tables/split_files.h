#pragma once
// Finds the files of a data set whose files are named after splits, or lie in folders that are.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

class Settings;

/// The files that one side (training or validation) reads.
struct SplitFiles {
  std::vector<std::string> paths = {};  ///< paths of files, sorted; not empty
  bool has_split = false;               ///< training and validation have files of their own
  std::string place = {};               ///< the file or the folder, for messages
  std::vector<std::string> notes = {};  ///< sentences on other files and folders there that are not used
};

/// Finds the files that the keys `path` and `split` name: a file with one of the `endings` (in lower case, without the
/// dot), or those of a folder. In a folder `split` names a sub-folder or files, with or without their ending, in any
/// case. Without it the usual names of splits decide (see choose_split): those of sub-folders with such files, or else
/// those of the files. Throws UserError(data) if there are none, and for names that may or may not be splits. Unless
/// `divides_files`, a `split` of a single file is refused.
SplitFiles find_split_files(const Settings& settings, bool training, std::span<const std::string_view> endings,
                            bool divides_files = false);

/// Finds the files with one of these endings that the keys `path` and `split` name on a server (find_remote_names).
/// Their `paths` may hold secrets, as users and passwords. Throws UserError(data) for files with other endings.
SplitFiles find_remote_files(const Settings& settings, std::span<const std::string_view> endings);

}  // namespace flowtrain
