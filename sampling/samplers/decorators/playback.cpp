// The decorator `playback`: gives back the rows that `record` has stored; its inner sampler makes none.
#include <cstring>
#include <mutex>

#include "sampling/core/registry.h"
#include "sampling/samplers/decorators/decorator.h"
#include "sampling/samplers/decorators/rows_file.h"
#include "sampling/samplers/decorators/stored_rows.h"
#include "sampling/samplers/entries.h"

namespace flowtrain {
namespace {

class PlaybackSampler final : public RowsDecorator {
 public:
  using RowsDecorator::RowsDecorator;

  void sample(const Record& record, Stream&, Row row) const override {
    std::call_once(opened_, [&] { reader_ = open<RowsReader>(); });
    const StoredRow stored = reader_->find(record);
    if (stored.bad) throw SampleError(std::string(stored.reason));
    const std::byte* next = stored.row;
    for (std::size_t i = 0; i < fields_.size(); next += fields_[i++].row_bytes())
      std::memcpy(row[i], next, fields_[i].row_bytes());
  }

 private:
  // A sampler that is only asked for its fields needs no file.
  mutable std::once_flag opened_;
  mutable std::unique_ptr<RowsReader> reader_;
};

}  // namespace

SamplerEntry playback_entry() {
  return {.name = "playback",
          .help = "decorator: gives back the rows that the sampler `record` wrote, without decoding anything",
          .keys = {inner_key(), rows_key()},
          .make = [](const Settings& settings, const SamplerInput& input) {
            return std::make_unique<PlaybackSampler>(make_inner("playback", settings, input), settings, input);
          }};
}

}  // namespace flowtrain
