// The check `blocks`.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {
namespace {

/// Returns the records that sample() accepts.
std::vector<const TrialRecord*> taken(const Subject& subject, const Sampler& sampler) {
  const Rows rows(sampler.fields());
  std::vector<const TrialRecord*> all;
  for (auto& trial : subject.records())
    if (!make_row(sampler, trial.record, 0, rows)) all.push_back(&trial);
  return all;
}

void check_block(const Sampler& sampler, std::span<const TrialRecord* const> trials,
                 const std::vector<std::int64_t>& extents) {
  const std::string place = concat("sample_rows() of ", trials.size(), " records from ", trials[0]->name, " on");
  std::vector<const Record*> records;
  for (auto* trial : trials) records.push_back(&trial->record);
  Rows block(sampler.fields(), trials.size(), extents);
  const Rows single(sampler.fields(), 1, extents);
  // The block begins with other bytes than the single row, so a byte that sample_rows() does not write is found.
  block.fill(std::byte{0x5c});
  try {
    sampler.sample_rows(records, block.first());
  } catch (const SampleError& error) {
    throw CheckFailure{concat(place, ": sample_rows() refuses records that sample() accepts: ", error.what()),
                       "let sample_rows() accept the records that sample() accepts"};
  }
  block.check_guards(place);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    make_row(sampler, trials[i]->record, 0, single);
    if (const auto difference = block.difference(single, i))
      throw CheckFailure{concat(place, ": row ", i, " is not that of sample(): ", *difference),
                         "first[f] is where field f of the first row goes; that of each further row follows at once"};
  }
}

}  // namespace

void check_blocks(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  if (!sampler->takes_blocks()) {
    report.note("it has none");
    return;
  }
  const auto trials = taken(subject, *sampler);
  const Rows rows(sampler->fields()), others(sampler->fields());
  for (auto* trial : trials) {
    make_row(*sampler, trial->record, 0, rows);
    make_row(*sampler, trial->record, 1000, others);
    if (const auto difference = others.difference(rows))
      throw CheckFailure{trial->name + ": sample() draws random numbers, but sample_rows() gets none: " + *difference,
                         "offer sample_rows() only in a sampler that draws nothing"};
  }
  const auto bounds = bounds_of(sampler->fields());
  auto shorter = bounds;
  for (auto& extent : shorter) extent = (extent + 1) / 2;
  for (std::size_t count = 1; count <= trials.size(); ++count) {
    const std::size_t first = trials.size() - count;
    report.at(concat("sample_rows() of ", count, " records"));
    for (auto& extents : {bounds, shorter}) check_block(*sampler, std::span(trials).subspan(first, count), extents);
  }
}

}  // namespace flowtrain::plugin_kit
