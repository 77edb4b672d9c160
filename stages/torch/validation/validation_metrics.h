#pragma once
// A validation measures the loss, and the metrics of val.metrics that are made of batches.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nets/metrics/metric.h"
#include "nets/net.h"
#include "stages/core/group.h"
#include "stages/core/table_keys.h"
#include "stages/evaluation/class_table.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Adds up metrics in one thread. All processes have the same ones, and those of counts do not depend on how many
/// processes there are.
class ValidationMetrics {
 public:
  ValidationMetrics() = default;
  /// `classes` are the data set's in label order; they name its metrics if the net knows as many.
  explicit ValidationMetrics(std::vector<std::string> classes) : classes_(std::move(classes)) {}

  /// Calls `make` once, and again for each group. Throws std::invalid_argument if the name is there already, and what
  /// `make` throws.
  using Make = std::function<std::unique_ptr<nets::Metric>()>;
  void add(const std::string& name, Make make);
  /// Measures each metric also apart for the rows of each value of the batch's field `field`, as <metric>.<value>; of
  /// `label` by the names of the classes, of which all have a metric; of the bytes of texts by the texts. Rows whose
  /// value is negative, or whose text is empty, are in none. Each batch then waits for the device.
  void group_by(std::string field) { field_ = std::move(field); }
  std::int64_t classes() const { return static_cast<std::int64_t>(classes_.size()); }
  /// Throws UserError(usage) for metrics whose inputs neither the net, as far as it says, nor the batches give, and for
  /// groups that cannot be told. With a decoder there is an output `prediction`.
  void check_inputs(const nets::Net& net, const SlabLayout& layout, const ValKeys& val, bool decodes = false) const;

  void begin();
  void update(const nets::NamedTensors& outputs, const nets::NamedTensors& batch);
  /// Returns the metrics over all processes; a collective. `beside` are other sums that travel with these.
  Scalars end(Group& group, std::span<double> beside);
  /// Returns the table of the last end(); null if it is not asked for, or there were no rows.
  const ClassTable* confusion() const { return confusion_ ? &*confusion_ : nullptr; }

 private:
  struct Named {
    std::string name;
    Make make;
    std::unique_ptr<nets::Metric> metric;  // over all rows
  };
  struct Part {  // measures the rows of one group
    double rows = 0;
    std::vector<std::unique_ptr<nets::Metric>> metrics;  // one for each of metrics_
  };
  /// A number, or a text beside 0.
  using GroupKey = std::pair<std::int64_t, std::string>;
  void check_groups(const SlabLayout& layout, const ValKeys& val) const;
  std::vector<GroupKey> groups_of(const at::Tensor& values) const;
  Part& part(const GroupKey& group);
  void update_parts(const nets::NamedTensors& outputs, const nets::NamedTensors& batch);
  void share_groups(Group& group);
  std::vector<const nets::Metric*> all() const;
  std::vector<std::vector<double>> totals(Group& group) const;
  std::vector<std::string> group_names() const;  // by parts_
  std::string name_of_group(const GroupKey& group) const;
  std::vector<std::string> class_names(std::size_t classes) const;

  std::vector<std::string> classes_;
  std::vector<Named> metrics_;
  std::string field_;               // val.group_by; empty: all rows together
  std::map<GroupKey, Part> parts_;  // by the field's value
  std::optional<ClassTable> confusion_;
};

}  // namespace flowtrain
