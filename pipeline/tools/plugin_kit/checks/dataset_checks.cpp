// The checks of data sets.

#include <algorithm>
#include <cmath>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/hammer.h"
#include "pipeline/tools/plugin_kit/held.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/fingerprint.h"

namespace flowtrain::plugin_kit {
namespace {

/// Returns up to 64 ids, spread over the data set.
std::vector<std::uint64_t> some_ids(const Dataset& dataset) {
  const std::uint64_t count = std::min<std::uint64_t>(64, dataset.size());
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) ids.push_back(count == 1 ? 0 : i * (dataset.size() - 1) / (count - 1));
  return ids;
}

std::uint64_t hash_of(const Record& record) {
  return fingerprint_of(record.boxes, fingerprint_of(record.bytes, static_cast<std::uint64_t>(record.label)));
}

/// Returns the hash of a record, or of the message if it cannot be read.
std::uint64_t hash_of_read(const Dataset& dataset, std::uint64_t id, ReadBuffer& buffer) {
  try {
    return hash_of(dataset.read(id, buffer));
  } catch (const SampleError& error) {
    return fingerprint_of(std::string_view(error.what()));
  }
}

void check_record(const Dataset& dataset, std::uint64_t id, const Record& record) {
  const auto check = [&](bool holds, const std::string& wrong, const std::string& hint) {
    if (!holds) throw CheckFailure{dataset.describe(id) + ": " + wrong, hint};
  };
  const auto classes = static_cast<std::int64_t>(dataset.classes().size());
  check(record.id == id, concat("its id is ", record.id, ", but it was read as ", id), "set Record::id");
  check(record.label == dataset.label(id),
        concat("its label is ", record.label, ", but label() returns ", dataset.label(id)),
        "give the same label in both places");
  check(record.label < std::max<std::int64_t>(classes, 1) || classes == 0,
        concat("its label is ", record.label, ", but there are ", classes, " classes"),
        "list the classes in label order; -1 stands for no label");
  const std::size_t pixels = std::size_t{record.height} * record.width * record.channels;
  check(record.encoding != Encoding::pixels || record.bytes.size() == pixels,
        concat("it has ", record.bytes.size(), " bytes, but height * width * channels is ", pixels),
        "set height, width and channels of stored pixels");
  for (const Box& box : record.boxes)
    check(std::isfinite(box.x0) && std::isfinite(box.y0) && std::isfinite(box.x1) && std::isfinite(box.y1),
          "a corner of a box is no number", "throw SampleError for a record that cannot be right");
}

}  // namespace

void check_dataset_opens(const Subject& subject, Report& report) {
  std::unique_ptr<Dataset> dataset;
  try {
    dataset = subject.make_dataset();
  } catch (const UserError& error) {
    report.refuse(error.what());
    return;
  }
  if (dataset->size() == 0)
    throw CheckFailure{"the data set has no records", "check its settings: --set data.KEY=VALUE"};
  const auto classes = dataset->classes().size();
  report.note(concat(format_count(dataset->size()), " records, ", classes, " classes"));
}

void check_dataset_records(const Subject& subject, Report& report) {
  const auto dataset = subject.make_dataset();
  ReadBuffer buffer;
  std::size_t damaged = 0;
  for (const auto id : some_ids(*dataset)) {
    report.at(concat("record ", id));
    try {
      check_record(*dataset, id, dataset->read(id, buffer));
    } catch (const SampleError&) {
      ++damaged;
    }
  }
  if (damaged > 0) report.note(concat(damaged, " of ", some_ids(*dataset).size(), " cannot be read"));
}

void check_dataset_same(const Subject& subject, Report& report) {
  const auto dataset = subject.make_dataset();
  ReadBuffer buffer, other;
  for (const auto id : some_ids(*dataset)) {
    report.at(concat("record ", id));
    const auto hash = hash_of_read(*dataset, id, buffer);
    if (hash != hash_of_read(*dataset, id, other))
      throw CheckFailure{dataset->describe(id) + ": the record differs when it is read again",
                         "let a record depend only on its id and the settings"};
    report.result(dataset->describe(id), hash);
  }
}

void check_dataset_threads(const Subject& subject, Report& report) {
  const auto dataset = subject.make_dataset();
  const auto ids = some_ids(*dataset);
  std::vector<std::uint64_t> expected;
  ReadBuffer buffer;
  expected.reserve(ids.size());
  for (const auto id : ids) expected.push_back(hash_of_read(*dataset, id, buffer));
  report.at("8 threads");
  hammer(ids.size(), "keep in the ReadBuffer what a read needs: threads share the data set", [&] {
    return [&, buffer = ReadBuffer()](std::size_t i) mutable -> std::optional<std::string> {
      if (hash_of_read(*dataset, ids[i], buffer) == expected[i]) return std::nullopt;
      return dataset->describe(ids[i]) + ": what one of 8 threads read is not what a single thread reads";
    };
  });
}

void check_dataset_leaks(const Subject& subject, Report& report) {
  {
    const auto dataset = subject.make_dataset();
    const auto ids = some_ids(*dataset);
    ReadBuffer buffer;
    std::size_t next = 0;
    const auto call = [&] { hash_of_read(*dataset, ids[next++ % ids.size()], buffer); };
    report.at("reads");
    check_memory("read", affordable_calls(call), call);
  }
  report.at("data sets are opened and closed");
  check_threads_and_files([&] { subject.make_dataset(); });
  check_memory("data set that is opened and closed", 20, [&] { subject.make_dataset(); });
}

void measure_read(const Subject& subject, Report& report) {
  const auto dataset = subject.make_dataset();
  const auto ids = some_ids(*dataset);
  ReadBuffer buffer;
  std::size_t next = 0;
  const double each_s = seconds_of([&] { hash_of_read(*dataset, ids[next++ % ids.size()], buffer); });
  report.note(printed("%.2f microseconds a read in one thread", each_s * 1e6));
}

}  // namespace flowtrain::plugin_kit
