#include "sampling/datasets/relabelled_dataset.h"

#include <set>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/datasets/coco_instances.h"

namespace flowtrain {

Record RelabelledDataset::read(std::uint64_t id, ReadBuffer& buffer) const {
  Record record = stored_->read(id, buffer);
  record.label = new_label(record.label);
  record.region.label = new_label(record.region.label);
  if (record.boxes.empty()) return record;
  thread_local std::vector<Box> boxes;  // the record's boxes may be those of the buffer or of the data set
  boxes.assign(record.boxes.begin(), record.boxes.end());
  for (auto& box : boxes) box.label = new_label(box.label);
  buffer.boxes.swap(boxes);
  record.boxes = buffer.boxes;
  return record;
}

bool RelabelledDataset::outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const {
  if (!stored_->outline(id, record, buffer)) return false;
  record.label = new_label(record.label);
  return true;
}

std::int32_t RelabelledDataset::new_label(std::int64_t label) const {
  if (label < 0) return -1;
  if (static_cast<std::uint64_t>(label) >= labels_.size())
    throw SampleError(concat("label ", label, " is out of range 0..", labels_.size() - 1));
  return labels_[static_cast<std::size_t>(label)];
}

// Classes that the file lacks get ids that it does not use.
std::shared_ptr<const BoxAnnotations> RelabelledDataset::annotations() const {
  const auto of_file = stored_->annotations();
  if (!of_file) return nullptr;
  auto all = std::make_shared<BoxAnnotations>(*of_file);
  std::set<std::int64_t> used;
  for (auto& category : of_file->instances.categories) used.insert(category.id);
  auto& categories = all->instances.categories;
  categories.clear();
  std::int64_t unused = 0;
  for (auto& name : classes_) {
    while (used.contains(unused)) ++unused;
    categories.push_back({unused++, name});
  }
  for (std::size_t i = 0; i < of_file->instances.categories.size(); ++i)
    categories[static_cast<std::size_t>(labels_[i])] = of_file->instances.categories[i];
  for (auto& each : all->instances.annotations) each.category = static_cast<std::uint32_t>(labels_[each.category]);
  return all;
}

}  // namespace flowtrain
