// The check `extents`: rows whose free axes are shorter and longer than their records need.

#include <algorithm>

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {
namespace {

using Extents = std::vector<std::int64_t>;

/// Measures a record. Throws CheckFailure if it differs for `other`, which is the same record.
void check_measured(const Sampler& sampler, const Item& item, const Record& other, const char* what, const char* hint) {
  Extents first, second;
  const auto refusal = measure_row(sampler, item.trial->record, first);
  const auto again = measure_row(sampler, other, second);
  const auto text = [](auto& reason, auto& extents) { return reason ? "an error (" + *reason + ")" : join(extents); };
  if (refusal != again || (!refusal && first != second))
    throw CheckFailure{
        concat(item.name(), ": measure() gives ", text(refusal, first), ", and ", text(again, second), what), hint};
}

/// Returns the extents, and shorter and longer ones.
std::vector<Extents> around(const Extents& own, const Extents& bounds) {
  std::vector<Extents> all{own, own, own};
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    all[1][axis] /= 2;
    all[2][axis] += (bounds[axis] - own[axis] + 1) / 2;
  }
  return all;
}

/// Returns the message of the SampleError if the record is refused.
std::optional<std::string> check_row(const Sampler& sampler, const Item& item, const Extents& extents) {
  const std::string place = concat(item.name(), ", extents ", join(extents));
  Rows rows(sampler.fields(), 1, extents), again(sampler.fields(), 1, extents);
  const auto refusal = make_row_twice(sampler, item, place, rows, again);
  rows.check_guards(place);
  if (const auto difference = refusal ? std::nullopt : again.difference(rows))
    throw CheckFailure{place + ": the row differs when it is made again: " + *difference,
                       "fill what is beyond a record's own extents with the same bytes each time"};
  return refusal;
}

void check_item(const Subject& subject, const Sampler& sampler, const Item& item) {
  check_measured(sampler, item, item.trial->record, " when it is asked again",
                 "let the extents follow from the record and the settings alone");
  Record outline;
  ReadBuffer buffer;
  if (subject.dataset().outline(item.trial->id, outline, buffer))
    check_measured(sampler, item, outline, " for the record's outline",
                   "measure by the sizes of parts: an outline has no bytes");
  Extents own;
  if (measure_row(sampler, item.trial->record, own) || check_row(sampler, item, own)) return;
  for (auto& extents : around(own, bounds_of(sampler.fields())))
    if (const auto refusal = check_row(sampler, item, extents))
      throw CheckFailure{concat(item.name(), ": it is refused at the extents ", join(extents), ", but not at ",
                                join(own), ": ", *refusal),
                         "cut what a record has beyond the extents of its row, and fill what it lacks"};
}

}  // namespace

void check_extents(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  if (free_axes_of(sampler->fields()) == 0) {
    report.note("no axis is free");
    return;
  }
  for (auto& item : items_of(subject)) {
    report.at(item.name());
    check_item(subject, *sampler, item);
  }
}

}  // namespace flowtrain::plugin_kit
