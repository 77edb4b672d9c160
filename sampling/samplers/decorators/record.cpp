// The decorator `record`: stores a row of each record in a file, for `playback`.
#include <mutex>

#include "sampling/core/registry.h"
#include "sampling/samplers/decorators/decorator.h"
#include "sampling/samplers/decorators/rows_file.h"
#include "sampling/samplers/decorators/stored_rows.h"
#include "sampling/samplers/entries.h"

namespace flowtrain {
namespace {

class RecordSampler final : public RowsDecorator {
 public:
  using RowsDecorator::RowsDecorator;

  // What is drawn follows from the record alone. With draws of its place in the stream, it would be left to chance
  // which row of two epochs comes first.
  void sample(const Record& record, Stream&, Row row) const override {
    std::call_once(opened_, [&] { writer_ = open<RowsWriter>(); });
    Stream random(0, Purpose::sample, record.id);
    try {
      inner().sample(record, random, row);
    } catch (const SampleError& error) {
      writer_->add_bad(record, error.what());
      throw;
    }
    writer_->add(record, row);
  }

 private:
  // A sampler that is only asked for its fields makes no file.
  mutable std::once_flag opened_;
  mutable std::unique_ptr<RowsWriter> writer_;
};

}  // namespace

SamplerEntry record_entry() {
  return {
      .name = "record",
      .help = "decorator: makes one row of each record, the same in all epochs, and writes it to a file for `playback`",
      .keys = {inner_key(), rows_key()},
      .make = [](const Settings& settings, const SamplerInput& input) {
        return std::make_unique<RecordSampler>(make_inner("record", settings, input), settings, input);
      }};
}

}  // namespace flowtrain
