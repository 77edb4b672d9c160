#pragma once
// Which folder of a data set of pictures holds the classes' folders, of training or of validation.

#include <string>
#include <vector>

#include "sampling/io/files.h"

namespace flowtrain {

struct ClassFolders {
  std::string base = {};                ///< the folder that holds the classes' folders: empty, or ending in a slash
  bool has_split = false;               ///< training and validation have folders of their own
  std::vector<std::string> notes = {};  ///< sentences on folders that lie there, too, and are not used
};

/// Folders directly below `outer` (empty, or ending in a slash) that hold pictures at any depth, sorted.
std::vector<std::string> picture_folders(const Files& files, const std::string& outer);

/// Finds the folder by the keys `split` and `split_names`. Folders named after splits are looked for at each level down
/// to the deepest folder that holds all pictures, since archives often wrap everything in one folder more. Throws
/// UserError: data for a split that is not there, and for names of which it cannot be told whether they are splits.
ClassFolders find_class_folders(const Files& files, const Settings& settings, bool training);

}  // namespace flowtrain
