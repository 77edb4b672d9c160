#include "pipeline/engine/loader/sample_stream.h"

#include <algorithm>
#include <utility>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/engine/loader/stream_rules.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/session/sources.h"
#include "sampling/core/random.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// A data set of numbers alone, for samples that are elsewhere.
class NumberedRecords final : public Dataset {
 public:
  explicit NumberedRecords(std::uint64_t size) : size_(size) {}

  std::uint64_t size() const override { return size_; }
  Record read(std::uint64_t, ReadBuffer&) const override { throw InternalError("a number has no record"); }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }
  std::string describe(std::uint64_t id) const override { return concat("sample ", id); }

 private:
  std::uint64_t size_;
};

std::unique_ptr<Dataset> open_records(const Config& config, const DataLoaderOptions& options,
                                      std::optional<std::uint64_t> records) {
  if (records) return std::make_unique<NumberedRecords>(*records);
  if (options.training) return open_dataset(config, true);
  return open_validation_dataset(config, learnt_data(config).classes, /*is_leader=*/false);
}

}  // namespace

SampleStream::SampleStream(Config config, const DataLoaderOptions& options, std::optional<std::uint64_t> records)
    : config_(std::move(config)), options_(options) {
  check_seed(config_);
  if (options_.training)
    refuse_groups(config_, "rows that Python makes have no groups", "leave out rows, or the sampler in Python");
  dataset_ = open_records(config_, options_, records);
  batch_ = batch_rows(config_, options_.training, options_.slice.world);
  if (options_.training) {
    order_ = make_training_order(config_, *dataset_, batch_, seed_of(config_)).order;
    prefetch_ = static_cast<std::uint32_t>(*config_.loader().prefetch);
  } else {
    order_ = make_validation_order(config_, *dataset_);
    prefetch_ = validation_prefetch;
  }
  workers_ = workers_of(options_.training ? config_.loader().workers : config_.val().workers);
  check_batch(batch_, samples(), options_.slice.world, options_.drop_last);
}

SampleStream::~SampleStream() = default;

Batches SampleStream::batches_from(StreamPosition position) const {
  return {samples(), batch_, options_.drop_last ? LastBatch::drop : LastBatch::pad, position.epoch, position.samples};
}

StreamRows SampleStream::rows(StreamPosition position) const {
  const Batches batches = batches_from(position);
  const std::uint64_t whole = batches.rows(0), own = options_.slice.rows(whole);
  const std::uint64_t first = own > 0 ? options_.slice.begin(whole) : 0;
  StreamRows rows;
  rows.ids.resize(std::max<std::uint64_t>(own, 1));
  order_->fill(position.epoch, batches.index(0, first), rows.ids);
  rows.seeds.reserve(rows.ids.size());
  for (std::uint64_t row = first; row < first + rows.ids.size(); ++row)
    rows.seeds.push_back(Stream(seed_of(config_), Purpose::sample, batches.position(0, row)).next64());
  return rows;
}

std::map<std::string, std::string> SampleStream::basis() const {
  return stream_basis(config_, options_.training, *dataset_, samples(), batch_);
}

}  // namespace flowtrain
