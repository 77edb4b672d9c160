// The other process: it makes a sampler, and samples on request.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "pipeline/engine/isolation/isolated_sampler.h"
#include "pipeline/engine/isolation/protocol.h"
#include "pipeline/engine/isolation/shared_memory.h"
#include "sampling/core/error.h"
#include "sampling/core/mistake.h"
#include "sampling/core/registry.h"
#include "stages/system/signals.h"

namespace flowtrain {
namespace {

using namespace isolation;

/// The view of the data set that a sampler's factory gets.
class DatasetFacts final : public Dataset {
 public:
  /// `first` is the record of setup.first_id, or any record if that is empty.
  DatasetFacts(Setup setup, const Record& first) : setup_(std::move(setup)), first_(first) {}

  std::uint64_t size() const override { return setup_.size; }
  Record read(std::uint64_t id, ReadBuffer&) const override {
    if (!setup_.first_id) throw SampleError(setup_.unreadable);
    if (id == *setup_.first_id) return first_.record();
    throw SampleError("with sampler.process = true, making a sampler can read only the data set's first record");
  }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return setup_.classes; }
  std::string missing_labels() const override { return setup_.missing_labels; }
  bool has_boxes() const override { return setup_.has_boxes; }
  std::vector<PartForm> parts() const override { return setup_.parts; }
  std::string describe(std::uint64_t id) const override { return "record " + std::to_string(id); }
  std::uint64_t fingerprint() const override { return setup_.fingerprint; }

 private:
  const Setup setup_;
  const KeptRecord first_;
};

template <std::size_t size>
void write_text(const std::string& text, std::array<char, size>& to) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to.data(), text.data(), length);
  to[length] = '\0';
}

class SamplerRunner {
 public:
  SamplerRunner() : memory_(SharedMemory::opened(memory_descriptor)) {}

  [[noreturn]] void run() {
    constexpr std::chrono::hours any_time{1};
    for (;;) {
      const std::uint32_t now = control().state.load(std::memory_order_acquire);
      if (now != requested) {
        sleep_while(control().state, now, any_time);
        continue;
      }
      control().state.store(working, std::memory_order_release);
      memory_.follow(control().memory_bytes);
      control().result = answer();
      control().state.store(done, std::memory_order_release);
      wake(control().state);
    }
  }

 private:
  Control& control() const { return *reinterpret_cast<Control*>(memory_.data()); }

  Result answer() {
    try {
      switch (control().request) {
        case Request::create: create(); break;
        case Request::measure: measure(); break;
        case Request::sample: sample(); break;
        case Request::sample_rows: sample_rows(); break;
      }
      return Result::ok;
    } catch (const SampleError& error) {
      write_text(error.what(), control().message);
      return Result::bad_sample;
    } catch (const UserError& error) {
      write_text(error.what(), control().message);
      write_text(error.hint(), control().hint);
      control().code = static_cast<std::int32_t>(error.code());
      return Result::user_error;
    } catch (const std::bad_alloc&) {
      return Result::out_of_memory;
    } catch (const std::exception& error) {
      write_text(error.what(), control().message);
    } catch (...) {
      write_text("an exception of unknown type", control().message);
    }
    return Result::bug;
  }

  void create() {
    std::byte* const text = memory_.data() + control().rows_offset;
    const Setup setup = setup_from({reinterpret_cast<const char*>(text), control().records});
    const auto first = load_records(memory_.data() + records_offset, setup.first_id ? 1 : 0);
    dataset_ = std::make_unique<DatasetFacts>(setup, first.empty() ? Record() : first.front());
    sampler_ = make_named(samplers(), setup.settings,
                          SamplerInput{*dataset_, setup.training, setup.needs_targets, setup.fields});
    fields_ = sampler_->fields();
    const std::string made = to_bytes(Made{fields_, sampler_->takes_blocks()});
    if (control().rows_offset + made.size() > memory_.size())
      throw InternalError("the sampler's fields do not fit into the shared memory");
    std::memcpy(text, made.data(), made.size());
    control().records = made.size();
  }

  void measure() {
    const auto records = load_records(memory_.data() + records_offset, 1);
    sampler_->measure(records.front(), std::span(control().extents).first(control().axes));
  }

  void sample() {
    const auto records = load_records(memory_.data() + records_offset, 1);
    auto random = std::bit_cast<Stream>(control().random);
    sampler_->sample(records.front(), random, row_of(1));
    std::memcpy(control().random.data(), &random, sizeof random);
  }

  void sample_rows() {
    const auto records = load_records(memory_.data() + records_offset, control().records);
    std::vector<const Record*> pointers;
    for (auto& record : records) pointers.push_back(&record);
    sampler_->sample_rows(pointers, row_of(records.size()));
  }

  /// Returns the places of each field of `rows` rows.
  Row row_of(std::size_t rows) {
    starts_.clear();
    std::byte* next = memory_.data() + control().rows_offset;
    const auto extents = std::span(control().extents).first(control().axes);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      starts_.push_back(next);
      next += aligned(fields_[i].row_bytes(extents_of(fields_, i, extents)) * rows);
    }
    return Row(starts_, extents, control().segment);
  }

  SharedMemory memory_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<Field> fields_;
  std::vector<std::byte*> starts_;
};

}  // namespace

int run_sampler_process() {
  // The program that started this process decides when it ends, so signals to all processes of a job are ignored. A
  // limit on processor time may end this process, which is then started again.
  for (auto& rule : signal_rules)
    if (rule.signal != SIGXCPU) ::signal(rule.signal, SIG_IGN);
  std::thread([] {
    pollfd lifeline{lifeline_descriptor, 0, 0};
    while (::poll(&lifeline, 1, -1) <= 0) {
    }
    ::_exit(0);  // the program has ended
  }).detach();
  SamplerRunner().run();
}

}  // namespace flowtrain
