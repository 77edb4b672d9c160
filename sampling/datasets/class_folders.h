#pragma once
// Finds the folder of a data set of images that holds the classes' folders, for training or validation.

#include <string>
#include <vector>

#include "sampling/io/files.h"

namespace flowtrain {

struct ClassFolders {
  std::string base = {};                ///< the folder that holds the classes' folders: empty, or ending in a slash
  bool has_split = false;               ///< training and validation have folders of their own
  std::vector<std::string> notes = {};  ///< sentences on other folders there that are not used
};

/// Returns the folders directly below `outer` (empty, or ending in a slash) that hold images at any depth, sorted.
std::vector<std::string> picture_folders(const Files& files, const std::string& outer);

/// Finds the folder by the keys `split` and `split_names`. Folders named after splits are searched at each level down
/// to the deepest folder that holds all images, since archives often wrap everything in one more folder. Throws
/// UserError(data) for a missing split, and for names that may or may not be splits.
ClassFolders find_class_folders(const Files& files, const Settings& settings, bool training);

}  // namespace flowtrain
