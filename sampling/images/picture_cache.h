#pragma once
// Keeps decoded images in memory, for training sets that are decoded again in each epoch.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// Records with their decoded images. The first ones stay: in a shuffled epoch each record is equally likely to come
/// next, so replacing one by another would gain nothing. Any thread.
class PictureCache {
 public:
  /// Holds record ids below `records`. `budget_bytes` counts all that is allocated.
  PictureCache(std::uint64_t records, std::uint64_t budget_bytes);
  ~PictureCache();
  PictureCache(const PictureCache&) = delete;

  /// Returns the record with its image as `pixels`, which lasts as long as this; nothing if it was not kept.
  std::optional<Record> find(std::uint64_t id) const;
  /// Copies the record, with `picture` (all of it) for its bytes. Does nothing without room, or if it is already kept.
  void keep(const Record& record, const Picture& picture);

 private:
  struct Kept;
  bool take_room(std::uint64_t bytes);

  std::vector<std::atomic<Kept*>> kept_;  ///< indexed by id
  const std::uint64_t budget_bytes_;
  std::atomic<std::uint64_t> used_bytes_;
};

/// Gives the data set a cache: an image that a sampler decoded (picture_of, StoredPicture) is kept, and its record is
/// not read again, unless records have parts. Images are decoded whole, even if there is no room for them, so that a
/// row does not depend on which ones were kept. A data set that reads ahead from servers no longer does so.
std::unique_ptr<Dataset> with_picture_cache(std::unique_ptr<Dataset> dataset, std::uint64_t budget_bytes);

}  // namespace flowtrain
