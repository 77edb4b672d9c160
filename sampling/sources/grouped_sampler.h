#pragma once
// The rows of groups: each source of a batch has fields of its own, made by a sampler of its own.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"
#include "sampling/sampler.h"

namespace flowtrain {

/// Makes each record's row by the sampler of its source, and leaves the fields of other sources alone. A field is
/// called "<source>.<field>", and its group is the number of its source.
class GroupedSampler : public Sampler {
 public:
  /// Takes the sampler of each of `sources`, in their order; `sources` must outlive it.
  GroupedSampler(std::vector<std::unique_ptr<Sampler>> samplers, std::span<const Dataset::Source> sources);

  std::vector<Field> fields() const override { return fields_; }
  /// Writes 0 for the axes of other sources' fields.
  void measure(const Record& record, std::span<std::int64_t> extents) const override;
  void sample(const Record& record, Stream& random, Row row) const override;

 private:
  struct Group {
    std::unique_ptr<Sampler> sampler;
    std::size_t first_field, fields, first_axis, axes;  ///< the fields and axes that it has among those of all
  };
  const Group& group_of(const Record& record) const;

  std::vector<Group> groups_;
  std::span<const Dataset::Source> sources_;
  std::vector<Field> fields_;
};

}  // namespace flowtrain
