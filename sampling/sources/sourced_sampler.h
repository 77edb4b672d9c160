#pragma once
// The rows of several sources that are alike: each tells its source.

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sampling/dataset.h"
#include "sampling/sampler.h"
#include "sampling/sources/mixed_dataset.h"

namespace flowtrain {

/// Makes another sampler's rows, with the index of the row's source at the end: i64, a field of the name `field`.
class SourcedSampler : public Sampler {
 public:
  /// `sources` must outlive it.
  SourcedSampler(std::unique_ptr<Sampler> sampler, std::span<const Dataset::Source> sources, std::string field)
      : sampler_(std::move(sampler)), sources_(sources), field_(std::move(field)), own_(sampler_->fields().size()) {}

  std::vector<Field> fields() const override {
    auto fields = sampler_->fields();
    fields.push_back({field_, DType::i64, {}});
    return fields;
  }
  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    sampler_->measure(record, extents);
  }
  void sample(const Record& record, Stream& random, Row row) const override {
    sampler_->sample(record, random, row.first(own_));
    tell(record, row[own_]);
  }
  bool takes_blocks() const override { return sampler_->takes_blocks(); }
  void sample_rows(std::span<const Record* const> records, Row first) const override {
    sampler_->sample_rows(records, first.first(own_));
    std::byte* to = first[own_];
    for (auto* record : records) tell(*record, std::exchange(to, to + sizeof(std::int64_t)));
  }

 private:
  void tell(const Record& record, std::byte* to) const {
    const auto source = static_cast<std::int64_t>(source_index(sources_, record.id));
    std::memcpy(to, &source, sizeof source);
  }

  std::unique_ptr<Sampler> sampler_;
  std::span<const Dataset::Source> sources_;
  std::string field_;
  std::size_t own_;  // the number of fields of sampler_
};

}  // namespace flowtrain
