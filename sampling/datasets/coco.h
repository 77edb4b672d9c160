#pragma once
// The `coco` data set: images with the boxes of an MS COCO annotation file, in a folder or a .tar archive.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sampling/datasets/coco_instances.h"
#include "sampling/io/files.h"
#include "sampling/named_dataset.h"

namespace flowtrain {

/// Records are the file's images in the file's order. The boxes of each are sorted by label, and for equal labels in
/// the file's order, as in the reference implementation of CornerNet; they are not clipped to the image.
class Coco : public NamedDataset {
 public:
  /// Reads the keys of coco_entry(). Throws UserError, see datasets().
  Coco(const Settings& settings, const DatasetInput& input);

  std::uint64_t size() const override { return pictures_.size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override;
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return classes_; }
  bool has_boxes() const override { return !boxes_.empty(); }
  /// Returns the whole annotation file, because evaluation also needs what training leaves out.
  std::shared_ptr<const BoxAnnotations> annotations() const override;
  /// Returns the image's path, with the number of its boxes that were left out because they have no area in the image.
  std::string describe(std::uint64_t id) const override;
  std::string name(std::uint64_t id) const override { return std::to_string(pictures_[id].image_id); }
  std::string place() const override { return files_.describe(annotations_); }
  std::vector<std::string> notes() const override { return notes_; }
  std::uint64_t fingerprint() const override;
  std::uint64_t version() const override;

 private:
  struct Picture {
    std::int64_t image_id;
    std::uint32_t file;  ///< index of the file; `missing`: there is none
    std::uint32_t first_box;
    std::uint32_t left_out;       ///< number of boxes left out
    std::uint32_t height, width;  ///< size as annotated; 0: not given
  };
  static constexpr std::uint32_t missing = 0xffffffff;

  CocoInstances instances() const;
  std::string find_annotations(const Settings& settings, bool training);
  std::vector<std::uint32_t> find_pictures(const Settings& settings, const std::string& split,
                                           const CocoInstances& instances);
  std::vector<std::uint32_t> files_below(const std::string& folder, const Names& names) const;
  void add(const CocoInstances& instances, const std::vector<std::uint32_t>& files, const Settings& settings);
  const Files& picture_files() const { return archive_ ? *archive_ : files_; }

  Files files_;
  std::unique_ptr<Files> archive_;  ///< archive of the images, if they have their own
  std::size_t annotations_ = 0;
  std::vector<std::string> notes_, classes_;
  std::vector<Picture> pictures_;
  std::vector<Box> boxes_;                              ///< boxes, image by image
  std::map<std::uint64_t, std::string> missing_names_;  ///< names of missing files, by record
};

}  // namespace flowtrain
