#pragma once
// Finds the folder of a data set of images or recordings that holds the classes' folders, for training or validation.

#include <string>
#include <string_view>
#include <vector>

#include "sampling/io/files.h"

namespace flowtrain {

struct ClassFolders {
  std::string base = {};                ///< the folder that holds the classes' folders: empty, or ending in a slash
  bool has_split = false;               ///< training and validation have folders of their own
  std::vector<std::string> notes = {};  ///< sentences on other folders there that are not used
};

/// The kind of files that are the samples of a data set, with its names for messages.
struct FileKind {
  bool (*fits)(std::string_view name);
  bool (*is_foreign)(std::string_view name);  ///< returns whether the file would be a sample if it were converted
  const char *one, *many;                     ///< "image", "images"
  const char* endings;
  const char* formats;  ///< the formats that files of other kinds can be converted to
};
inline constexpr FileKind picture_files{is_picture, is_other_picture, "image",
                                        "images",   picture_endings,  "PNG or JPEG"};
inline constexpr FileKind sound_files{is_sound,     is_other_sound, "recording",
                                      "recordings", sound_endings,  "WAV or FLAC"};

/// Returns the folders directly below `outer` (empty, or ending in a slash) that hold such files at any depth, sorted.
std::vector<std::string> sample_folders(const Files& files, const FileKind& kind, const std::string& outer);

/// Finds the folder by the keys `split` and `split_names`. Folders named after splits are searched at each level down
/// to the deepest folder that holds all samples, since archives often wrap everything in one more folder. Throws
/// UserError(data) for a missing split, and for names that may or may not be splits.
ClassFolders find_class_folders(const Files& files, const FileKind& kind, const Settings& settings, bool training);

}  // namespace flowtrain
