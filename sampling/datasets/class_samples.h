#pragma once
// Finds the samples of a data set with one folder per class: path/[split/]class/…/file.

#include <cstdint>
#include <string>
#include <vector>

#include "sampling/datasets/class_folders.h"
#include "sampling/io/files.h"

namespace flowtrain {

/// The samples of class folders. Labels are those of torchvision's ImageFolder: the positions of the sorted folder
/// names. A folder with files, but no sample, is no class.
struct ClassSamples {
  struct Sample {
    std::uint32_t file;
    std::int32_t label;
  };

  Files files;
  std::string base = {};                  ///< the folder that holds the classes' folders: empty, or ending in a slash
  bool has_split = false;                 ///< training and validation have folders of their own
  std::vector<std::string> notes = {};    ///< sentences on files and folders there that are not used
  std::vector<std::string> classes = {};  ///< names of the folders, which need not be UTF-8
  std::vector<Sample> samples = {};       ///< at least one
};

/// Finds the samples by the keys `path`, `split` and `split_names`. Throws as find_class_folders(), and EmptyDataset;
/// warns of files and names that are probably mistakes.
ClassSamples find_class_samples(const Settings& settings, const FileKind& kind, bool training);

}  // namespace flowtrain
