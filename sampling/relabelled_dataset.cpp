#include "sampling/relabelled_dataset.h"

#include "sampling/core/error.h"
#include "sampling/core/say.h"

namespace flowtrain {

Record RelabelledDataset::read(std::uint64_t id, ReadBuffer& buffer) const {
  Record record = stored_->read(id, buffer);
  record.label = new_label(record.label);
  record.region.label = new_label(record.region.label);
  if (record.boxes.empty()) return record;
  thread_local std::vector<Box> boxes;  // the record's may be those of the buffer, or the data set's own
  boxes.assign(record.boxes.begin(), record.boxes.end());
  for (auto& box : boxes) box.label = new_label(box.label);
  buffer.boxes.swap(boxes);
  record.boxes = buffer.boxes;
  return record;
}

std::int32_t RelabelledDataset::new_label(std::int64_t label) const {
  if (label < 0) return -1;
  if (static_cast<std::uint64_t>(label) >= labels_.size())
    throw SampleError(say("label ", label, " is out of range 0..", labels_.size() - 1));
  return labels_[static_cast<std::size_t>(label)];
}

}  // namespace flowtrain
