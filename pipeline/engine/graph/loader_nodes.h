#pragma once
// The stages of a loader, a class for each. LoaderGraph in graph.cpp connects them. oneTBB routes and computes; its
// messages are tickets. Work that may block (reading, copies to a device) runs on threads of the loader's own, which
// talk to the graph through an async_node and bounded queues. Nodes with no or several outputs are multifunction_nodes.

// This brings flow::graph and its nodes.
#include <oneapi/tbb/flow_graph.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/graph/outlet.h"
#include "pipeline/engine/graph/row_hashes.h"
#include "pipeline/engine/graph/thread_trial.h"
#include "sampling/core/error.h"
#include "sampling/core/reads_until.h"
#include "sampling/core/text.h"
#include "stages/core/bounded_queue.h"
#include "stages/core/tsan_annotations.h"
#include "stages/flight/flight.h"
#include "stages/loader/batch_planner.h"
#include "stages/loader/sample.h"
#include "stages/trace/clock.h"
#include "stages/trace/profile.h"

namespace flowtrain {

namespace flow = oneapi::tbb::flow;

/// Returns the chunks of a batch: so small that workers share a batch, so large that a message (about 1 µs) costs
/// little per row.
inline std::uint32_t chunks_of(unsigned workers) { return std::min(4 * workers, 255u); }

/// Counts how many of the batches ahead were ready at each request for one. One thread counts, any reads.
class ReadyCount {
 public:
  void count(std::size_t ready, std::uint32_t prefetch) {
    sum_ = sum_.load(std::memory_order_relaxed) +
           static_cast<double>(std::min<std::size_t>(ready, prefetch)) / std::max(prefetch, 1u);
    asked_ = asked_.load(std::memory_order_relaxed) + 1;
  }
  double share_sum() const { return sum_.load(std::memory_order_relaxed); }
  std::uint64_t asked() const { return asked_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> sum_{0};
  std::atomic<std::uint64_t> asked_{0};
};

/// The state of a loader that stays when its graph is rebuilt.
struct LoaderState {
  LoaderParts parts;
  const SlabLayout layout = slab_layout(parts.sampler.fields(), parts.batch, parts.plan);
  // The range of batches of the stream that it delivers.
  const std::uint64_t begin = (parts.iterations.first - 1) * parts.accum;
  const std::uint64_t end = parts.iterations.last == LoaderIterations::endless
                                ? parts.iterations.last
                                : std::max(parts.iterations.last * parts.accum, begin);
  std::uint64_t received = 0;  // counted by Loader::next(), one thread
  BatchPlanner planner{parts.order, parts.batches, parts.slice, parts.accum, chunks_of(parts.shape.workers),
                       parts.plan};
  LookAhead next_ticket{begin, end, parts.accum, planner, parts.dataset, parts.read_ahead};  // used by the plan node
  StageClock plan_clock, read_clock, sample_clock, transfer_clock;
  ThreadTrial read_trial, sample_trial;  // used if parts.tries_threads
  ReadyCount ready;
  std::stop_source reads;  // stops reads of the threads ft-read

  std::uint64_t batches() const { return end - begin; }
  const LoaderShape& shape() const { return parts.shape; }
  LoaderTimes times() const {
    return {plan_clock.times(), read_clock.times(), sample_clock.times(),          transfer_clock.times(),
            ready.share_sum(),  ready.asked(),      read_trial.rate_without_one(), sample_trial.rate_without_one()};
  }
};

/// Returns one for each slab if the loader hashes rows, otherwise none.
inline std::vector<std::unique_ptr<RowHashes>> row_hashes_of(const LoaderState& state) {
  std::vector<std::unique_ptr<RowHashes>> all(!state.parts.hash_every.off() ? Loader::slabs(state.parts.shape.prefetch)
                                                                            : 0);
  for (auto& each : all) each = std::make_unique<RowHashes>(state.layout);
  return all;
}

/// The names of a loader's stages and queues in a trace.
struct TraceNames {
  explicit TraceNames(const std::string& line) : line(flight_name(line)) {}

  const char* const line;
  const char* const read = of("read");
  const char* const sample = of("sample");
  const char* const transfer = of("transfer");
  const char* const forward = of("forward");
  const char* const copy_stream = of("copy stream");
  const char* const compute_stream = of("compute stream");
  const char* const slabs = of("slabs in use");
  const char* const to_read = of("chunks to read");
  const char* const to_copy = of("batches to copy");
  const char* const ready = of("batches ready");

 private:
  const char* of(const char* what) const { return flight_name(concat(line, " ", what)); }
};

/// State that the stages share. Slabs are the credit: without a free slab there is no new ticket, so memory is bounded.
struct LoaderContext {
  LoaderState& state;
  flow::graph& graph;
  const std::vector<std::unique_ptr<Slab>> slabs;
  const LoaderParts& parts = state.parts;
  const std::vector<std::unique_ptr<RowHashes>> hashes = row_hashes_of(state);  ///< indexed by the slab's slot
  std::atomic<std::uint32_t> free_slabs{0};
  std::atomic<bool> stopping{false};
  // Names of the stages in the flight recorder.
  const std::string prefix = parts.name == "train" ? "" : parts.name + " ";
  const char* const planning = flight_name(prefix + "plan");
  const char* const reading = flight_name(prefix + "read");
  const char* const sampling = flight_name(prefix + "sample");
  const char* const sequencing = flight_name(prefix + "sequence");
  const char* const transferring = flight_name(prefix + "transfer");
  const TraceNames names{parts.name};

  Slab& slab(const Ticket& ticket) const { return *slabs[ticket.slot]; }
  bool hashes_rows(const Ticket& ticket) const { return parts.hash_every.ends(ticket.iteration); }
  std::span<RowWork> take_chunk(const Ticket& ticket) const {
    taken_over(&slab(ticket));  // plan passed on the rows of the chunk
    const auto rows = slab(ticket).chunk(ticket.chunk);
    taken_over(rows.data());  // read passed on the rows, or sample if a row is read again
    return rows;
  }
  /// Finishes a part of a batch; the last one sends it on.
  template <class Port>
  void finish_part(Ticket ticket, Port& out) const {
    Slab& batch = slab(ticket);
    if (!batch.chunk_done()) return;
    if (batch.error()) ticket.kind = TicketKind::bad;
    handed_over(&batch);
    out.try_put(ticket);
  }
  /// May pause the thread; called after it handed on a piece of its work.
  void after_piece(ThreadTrial& trial, const StageClock& clock, unsigned threads) const {
    if (parts.tries_threads) trial.after_piece(clock, threads, stopping);
  }
  // Places in the profile; a loader without a plan only numbers its batches.
  BatchPlace place(const Ticket& ticket) const { return {names.line, ticket.seq}; }
  Profile::Work work(const char* name, const Ticket& ticket) const {
    return {name, place(ticket), parts.iterations.plan ? ticket.iteration : 0};
  }
  Profile::Work work_on_chunk(const char* name, const Ticket& ticket) const {
    Profile::Work work = this->work(name, ticket);
    work.batch.chunk = ticket.chunk;
    return work;
  }
  void count(const char* name, const BoundedQueue<Ticket>& queue) const {
    if (parts.profile) parts.profile->count(name, queue.size());
  }
  void count_slabs() const {
    if (parts.profile) parts.profile->count(names.slabs, slabs.size() - free_slabs);
  }
  /// Returns a place for the flight recorder; a loader without a plan only numbers its batches.
  FlightPlace at(const char* stage, const Ticket& ticket) const {
    return {.name = stage, .iteration = parts.iterations.plan ? ticket.iteration : 0, .kind = FlightKind::loads};
  }
  /// Makes a node's body. Its writes are handed over to the thread that joins the graph.
  template <class Work>
  auto body(Work work) const {
    return [this, work](const auto& message, auto&... out) {
      work(message, out...);
      handed_over(this);
    };
  }
  /// Runs `work` and returns false if it threw. No body throws: an error stays in the batch's slab, and the ticket goes
  /// on as `bad`, so the sequence never has a gap.
  template <class Work>
  bool attempt(const Ticket& ticket, Work work) const try {
    work();
    return true;
  } catch (...) {
    slab(ticket).fail(std::current_exception());
    return false;
  }
};

/// Plans a batch for each free slab, which is the message that asks for the next ticket. (An input_node and a reserving
/// join would do the same, but that join allocates whenever it finds no slab.)
class PlanNode : public flow::multifunction_node<std::uint32_t, std::tuple<Ticket, Ticket, Ticket>> {
 public:
  static constexpr std::size_t chunks = 0, errors = 1, plans = 2;  ///< outputs

  explicit PlanNode(LoaderContext& loader)
      : multifunction_node(loader.graph, flow::serial, loader.body([this](auto slot, auto& out) { plan(slot, out); })),
        loader_(loader) {}

  std::uint64_t next_seq() const { return next_seq_; }

 private:
  // Gives the slab its plan, positions and records. An error takes its turn as a bad batch, which is the loader's last.
  void plan(std::uint32_t slot, output_ports_type& out) {
    if (loader_.stopping || failed_ || loader_.state.next_ticket.over()) return;
    Slab& slab = *loader_.slabs[slot];
    taken_over(&slab);
    Ticket ticket = loader_.state.next_ticket();
    ticket.seq = next_seq_++;
    ticket.slot = slot;
    loader_.free_slabs.fetch_sub(1);
    loader_.count_slabs();
    std::uint32_t count = 0;
    failed_ = !loader_.attempt(ticket, [&] {
      const StageClock::Scope busy(loader_.state.plan_clock, loader_.parts.batch, loader_.at(loader_.planning, ticket));
      slab.plan() = loader_.parts.iterations.plan ? loader_.parts.iterations.plan(ticket.iteration)
                                                  : Plan{.iteration = ticket.iteration};
      count = loader_.state.planner(ticket, slab);
      if (loader_.parts.iterations.schedule) slab.add_part();
    });
    handed_over(&slab);
    if (failed_) {
      ticket.kind = TicketKind::bad;
      std::get<errors>(out).try_put(ticket);
      return;
    }
    if (loader_.parts.iterations.schedule) std::get<plans>(out).try_put(ticket);
    for (std::uint32_t chunk = 0; chunk < count; ++chunk) {
      ticket.chunk = static_cast<std::uint8_t>(chunk);
      std::get<chunks>(out).try_put(ticket);
    }
  }

  LoaderContext& loader_;
  std::uint64_t next_seq_ = loader_.state.received;  // used by the body, which is serial
  bool failed_ = false;
};

/// Fills in hyper-parameters while rows are read; for the sequence it is one more part of the batch.
class ScheduleNode : public flow::multifunction_node<Ticket, std::tuple<Ticket>> {
 public:
  explicit ScheduleNode(const LoaderContext& loader)
      : multifunction_node(loader.graph, flow::serial, loader.body([&loader](const Ticket& ticket, auto& out) {
          taken_over(&loader.slab(ticket));
          loader.attempt(ticket, [&] { loader.parts.iterations.schedule(loader.slab(ticket).plan()); });
          loader.finish_part(ticket, std::get<0>(out));
        })) {}
};

/// Hands chunks to its threads.
class ReadNode : public flow::async_node<Ticket, Ticket> {
 public:
  explicit ReadNode(const LoaderContext& loader)
      : async_node(loader.graph, flow::serial,
                   [this](const Ticket& ticket, auto&) {
                     queue.try_push(ticket);
                     loader_.count(loader_.names.to_read, queue);
                   }),
        queue(loader.slabs.size() * chunks_of(loader.parts.shape.workers)),  // never full: all chunks of all slabs
        loader_(loader),
        waiting_(loader.prefix + "chunks to read", queue.capacity()) {}

  /// Runs in each thread, until the queue is closed.
  void loop() {
    const ReadsUntil until(loader_.state.reads.get_token());
    for (Ticket ticket; queue.pop(ticket);) {
      read(ticket);
      gateway().try_put(ticket);
      loader_.after_piece(loader_.state.read_trial, loader_.state.read_clock, loader_.parts.shape.readers);
    }
  }

  BoundedQueue<Ticket> queue;

 private:
  void read(const Ticket& ticket) const {
    waiting_.set(queue.size());
    loader_.count(loader_.names.to_read, queue);
    const auto rows = loader_.take_chunk(ticket);
    const StageClock::Scope busy(loader_.state.read_clock, rows.size(), loader_.at(loader_.reading, ticket));
    const Profile::Span span(loader_.parts.profile, loader_.work_on_chunk(loader_.names.read, ticket));
    loader_.attempt(ticket, [&] { read_rows(loader_.parts.dataset, rows); });
    handed_over(rows.data());
  }

  const LoaderContext& loader_;
  const FlightQueue waiting_;
};

/// Samples chunks, up to one per worker at once.
class SampleNode : public flow::multifunction_node<Ticket, std::tuple<Ticket, Ticket>> {
 public:
  static constexpr std::size_t batches = 0, unread = 1;  ///< outputs

  explicit SampleNode(const LoaderContext& loader)
      : multifunction_node(loader.graph, loader.parts.shape.workers,
                           loader.body([this](const Ticket& ticket, auto& out) { sample(ticket, out); })),
        loader_(loader) {}

 private:
  void sample(const Ticket& ticket, output_ports_type& out) const {
    const auto rows = loader_.take_chunk(ticket);
    if (sample_rows(rows, ticket)) {
      loader_.finish_part(ticket, std::get<batches>(out));
    } else {
      handed_over(rows.data());
      std::get<unread>(out).try_put(ticket);
    }
    loader_.after_piece(loader_.state.sample_trial, loader_.state.sample_clock, loader_.parts.shape.workers);
  }

  // Returns false if some rows must be read again.
  bool sample_rows(std::span<RowWork> rows, const Ticket& ticket) const {
    const StageClock::Scope busy(loader_.state.sample_clock, rows.size(), loader_.at(loader_.sampling, ticket));
    const Profile::Span span(loader_.parts.profile, loader_.work_on_chunk(loader_.names.sample, ticket));
    Slab& slab = loader_.slab(ticket);
    if (slab.error()) return true;
    bool sampled = false;
    const bool good = loader_.attempt(ticket, [&] {
      do {
        if (resident_) read_rows(loader_.parts.dataset, rows);
        sampled = stage_(slab, ticket.chunk);
      } while (resident_ && !sampled);
    });
    if (sampled && loader_.hashes_rows(ticket)) loader_.hashes[ticket.slot]->hash(slab, rows);
    return sampled || !good;
  }

  const LoaderContext& loader_;
  const SampleStage stage_{loader_.parts.dataset, loader_.parts.sampler, loader_.parts.seed, loader_.parts.plan};
  const bool resident_ = loader_.parts.dataset.resident();  // true: this stage reads the bytes itself, without a wait
};

/// Copies batches to a device that has memory of its own.
class Transfer {
 public:
  explicit Transfer(const LoaderContext& loader) : queue(loader.slabs.size()), loader_(loader) {}

  /// Runs in its thread, until a queue is closed.
  void loop() {
    for (Ticket ticket; queue.pop(ticket);) {
      loader_.count(loader_.names.to_copy, queue);
      if (ticket.kind == TicketKind::batch && !start_copy(ticket)) ticket.kind = TicketKind::bad;
      if (!copied.to->push(ticket)) return;
      loader_.count(loader_.names.ready, *copied.to);
    }
  }

  BoundedQueue<Ticket> queue;
  Outlet<BoundedQueue<Ticket>> copied;

 private:
  bool start_copy(const Ticket& ticket) const {
    const StageClock::Scope busy(loader_.state.transfer_clock, loader_.slab(ticket).rows().size(),
                                 loader_.at(loader_.transferring, ticket));
    const auto work = loader_.work(loader_.names.transfer, ticket);
    const Profile::Span span(loader_.parts.profile, work);
    Slab& slab = loader_.slab(ticket);
    Device& device = loader_.parts.device;
    return loader_.attempt(ticket, [&] {
      Profile::StreamSpan copy(loader_.parts.profile, device, DeviceStream::copies, loader_.names.copy_stream, work);
      device.start_copy(ticket.slot, slab.device(), slab.host(), slab.bytes());
      copy.end();
    });
  }

  const LoaderContext& loader_;
};

/// The place where the compute thread takes batches, and gives slabs back.
class LoaderEnd {
 public:
  explicit LoaderEnd(LoaderContext& loader)
      : queue(loader.slabs.size()), loader_(loader), ready_(loader.prefix + "batches ready", queue.capacity()) {}

  /// Waits. Returns false if the queue is closed. Throws if the graph itself has failed.
  bool next(Ticket& ticket) {
    loader_.state.ready.count(queue.size(), loader_.parts.shape.prefetch);
    const bool one = queue.pop(ticket);
    set_ready();
    return popped(one);
  }
  /// Waits like next(), but returns nothing if there is no batch after `patience`.
  std::optional<bool> next_within(Ticket& ticket, std::chrono::microseconds patience) {
    const auto one = queue.pop_within(ticket, patience);
    loader_.count(loader_.names.ready, queue);
    return one ? std::optional(popped(*one)) : std::nullopt;
  }
  void release(const Ticket& ticket) {
    // The slab's memory is soon filled again, so the copy that reads it must be over (the CPU has no copy).
    if (loader_.parts.device.copies()) loader_.parts.device.wait_host_free(ticket.slot);
    loader_.free_slabs.fetch_add(1);
    loader_.count_slabs();
    handed_over(&loader_.slab(ticket));
    given_back.to->try_put(ticket.slot);
  }
  /// Hands a batch to the next thread: the transfer, or compute.
  void accept(const Ticket& ticket, BoundedQueue<Ticket>& next) {
    const FlightSpan flight(loader_.at(loader_.sequencing, ticket));
    taken_over(&loader_.slab(ticket));
    if (next.try_push(ticket) || loader_.stopping) {
      if (&next == &queue) return set_ready();
      loader_.count(loader_.names.to_copy, next);
      return ready_.set(queue.size());
    }
    overflowed_ = true;
    queue.close();  // wakes compute, which throws and stops the loader
  }

  BoundedQueue<Ticket> queue;
  Outlet<PlanNode> given_back;  ///< takes free slabs

 private:
  void set_ready() const {
    ready_.set(queue.size());
    loader_.count(loader_.names.ready, queue);
  }
  bool popped(bool one) const {
    if (!one && overflowed_) throw InternalError("a queue of the loader is full");
    return one;
  }

  LoaderContext& loader_;
  const FlightQueue ready_;
  std::atomic<bool> overflowed_{false};
};

}  // namespace flowtrain
