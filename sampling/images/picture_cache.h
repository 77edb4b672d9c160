#pragma once
// Decoded pictures kept in memory, for training sets that are decoded again in each epoch.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// Records with their decoded pictures. The first ones stay: in a shuffled epoch each record is as likely to come next
/// as any other, so replacing one by another would gain nothing. Any thread.
class PictureCache {
 public:
  /// For record ids below `records`. `budget_bytes` counts all that is allocated.
  PictureCache(std::uint64_t records, std::uint64_t budget_bytes);
  ~PictureCache();
  PictureCache(const PictureCache&) = delete;

  /// The record with its picture as `pixels`; lasts as long as this. Nothing where it was not kept.
  std::optional<Record> find(std::uint64_t id) const;
  /// Copies the record, with `picture` (all of it) for its bytes. Without room, or where it is kept already, does
  /// nothing.
  void keep(const Record& record, const Picture& picture);

 private:
  struct Kept;
  bool take_room(std::uint64_t bytes);

  std::vector<std::atomic<Kept*>> kept_;  ///< by id
  const std::uint64_t budget_bytes_;
  std::atomic<std::uint64_t> used_bytes_;
};

/// The data set with a cache of its own: a picture that a sampler decoded (picture_of, StoredPicture) is kept, and its
/// record is not read again. Pictures are decoded whole, even if there is no room for them, so that a row does not
/// depend on which ones were kept. A data set that reads ahead from servers no longer does so.
std::unique_ptr<Dataset> with_picture_cache(std::unique_ptr<Dataset> dataset, std::uint64_t budget_bytes);

}  // namespace flowtrain
