#include "sampling/images/picture_cache.h"

#include <cstring>
#include <utility>

namespace flowtrain {

struct PictureCache::Kept {
  Record record;
  std::vector<std::byte> pixels;
  std::vector<Box> boxes;
};

PictureCache::PictureCache(std::uint64_t records, std::uint64_t budget_bytes)
    : kept_(records), budget_bytes_(budget_bytes), used_bytes_(records * sizeof kept_[0]) {}

PictureCache::~PictureCache() {
  for (auto& each : kept_) delete each.load();
}

std::optional<Record> PictureCache::find(std::uint64_t id) const {
  const Kept* kept = kept_[id].load(std::memory_order_acquire);
  return kept ? std::optional(kept->record) : std::nullopt;
}

void PictureCache::keep(const Record& record, const Picture& picture) {
  auto& slot = kept_[record.id];
  if (slot.load(std::memory_order_relaxed)) return;
  const auto row_bytes = static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.channels);
  const std::size_t pixels = static_cast<std::size_t>(picture.height) * row_bytes;
  const std::uint64_t bytes = sizeof(Kept) + pixels + record.boxes.size_bytes();
  if (!take_room(bytes)) return;

  auto kept = std::make_unique<Kept>();
  kept->pixels.resize(pixels);
  for (int y = 0; y < picture.height; ++y)
    std::memcpy(kept->pixels.data() + static_cast<std::size_t>(y) * row_bytes, picture.row(y), row_bytes);
  kept->boxes.assign(record.boxes.begin(), record.boxes.end());
  kept->record = record;
  kept->record.encoding = Encoding::pixels;
  kept->record.bytes = kept->pixels;
  kept->record.height = static_cast<std::uint32_t>(picture.height);
  kept->record.width = static_cast<std::uint32_t>(picture.width);
  kept->record.channels = static_cast<std::uint32_t>(picture.channels);
  kept->record.boxes = kept->boxes;
  kept->record.cache = nullptr;

  Kept* nobody = nullptr;
  if (slot.compare_exchange_strong(nobody, kept.get(), std::memory_order_release))
    static_cast<void>(kept.release());
  else
    used_bytes_ -= bytes;  // another thread kept the same record first
}

bool PictureCache::take_room(std::uint64_t bytes) {
  if (used_bytes_.load(std::memory_order_relaxed) + bytes > budget_bytes_) return false;
  if (used_bytes_.fetch_add(bytes) + bytes <= budget_bytes_) return true;
  used_bytes_ -= bytes;
  return false;
}

namespace {

class CachedDataset : public Dataset {
 public:
  CachedDataset(std::unique_ptr<Dataset> dataset, std::uint64_t budget_bytes)
      : dataset_(std::move(dataset)), cache_(dataset_->size(), budget_bytes), has_parts_(!dataset_->parts().empty()) {}

  std::uint64_t size() const override { return dataset_->size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    auto kept = cache_.find(id);
    if (kept && !has_parts_) return *kept;
    Record record = dataset_->read(id, buffer);
    record.cache = &cache_;
    if (!kept) return record;
    kept->parts = record.parts;  // a kept picture saves the decoding, but not the read
    return *kept;
  }
  std::vector<PartForm> parts() const override { return dataset_->parts(); }
  bool outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const override {
    return dataset_->outline(id, record, buffer);
  }
  std::int64_t label(std::uint64_t id) const override { return dataset_->label(id); }
  std::vector<std::string> classes() const override { return dataset_->classes(); }
  std::string missing_labels() const override { return dataset_->missing_labels(); }
  bool has_boxes() const override { return dataset_->has_boxes(); }
  std::shared_ptr<const BoxAnnotations> annotations() const override { return dataset_->annotations(); }
  std::string describe(std::uint64_t id) const override { return dataset_->describe(id); }
  bool resident() const override { return dataset_->resident(); }
  std::uint64_t fingerprint() const override { return dataset_->fingerprint(); }
  std::uint64_t version() const override { return dataset_->version(); }
  std::span<const Source> sources() const override { return dataset_->sources(); }
  Range source_of(std::uint64_t id) const override { return dataset_->source_of(id); }
  // It takes no hints: hinted records must be read, but some may be kept by then.
  std::uint64_t retries() const override { return dataset_->retries(); }

 private:
  std::unique_ptr<Dataset> dataset_;
  mutable PictureCache cache_;
  bool has_parts_;
};

}  // namespace

std::unique_ptr<Dataset> with_picture_cache(std::unique_ptr<Dataset> dataset, std::uint64_t budget_bytes) {
  return std::make_unique<CachedDataset>(std::move(dataset), budget_bytes);
}

}  // namespace flowtrain
