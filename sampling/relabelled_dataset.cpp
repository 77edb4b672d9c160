#include "sampling/relabelled_dataset.h"

#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/say.h"
#include "sampling/distant.h"

namespace flowtrain {

namespace {

class RelabelledDistantDataset : public RelabelledDataset, public Distant {
 public:
  RelabelledDistantDataset(RelabelledDataset&& dataset, const Distant& distant)
      : RelabelledDataset(std::move(dataset)), distant_(distant) {}

  void expect(std::uint64_t id) const override { distant_.expect(id); }
  void begin(std::uint64_t id) const override { distant_.begin(id); }
  void abandon() const override { distant_.abandon(); }
  std::uint64_t retries() const override { return distant_.retries(); }

 private:
  const Distant& distant_;
};

}  // namespace

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

std::unique_ptr<Dataset> relabelled(std::unique_ptr<Dataset> dataset, std::vector<std::string> classes,
                                    std::vector<std::int32_t> labels) {
  const auto* distant = dynamic_cast<const Distant*>(dataset.get());
  RelabelledDataset plain(std::move(dataset), std::move(classes), std::move(labels));
  if (distant) return std::make_unique<RelabelledDistantDataset>(std::move(plain), *distant);
  return std::make_unique<RelabelledDataset>(std::move(plain));
}

}  // namespace flowtrain
