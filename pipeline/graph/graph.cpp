#include "pipeline/graph/graph.h"

// global_control, task_arena; wiring.h brings flow::graph
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <thread>
#include <tuple>

#include "pipeline/graph/wiring.h"
#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "stages/bounded_queue.h"
#include "stages/clock.h"
#include "stages/handover.h"
#include "stages/issue.h"
#include "stages/look_ahead.h"
#include "stages/profile.h"
#include "stages/read.h"
#include "stages/sample.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

namespace flow = oneapi::tbb::flow;

namespace {

// Small enough that all workers share one batch, large enough that a message (about 1 µs) costs little per row.
std::uint32_t chunks_of(unsigned workers) { return std::min(4 * workers, 255u); }

std::string counted(unsigned number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

struct Scheduler::Impl {
  oneapi::tbb::global_control limit;
  oneapi::tbb::task_scheduler_handle handle{oneapi::tbb::attach{}};
};

Scheduler::Scheduler(unsigned workers)
    : impl_(new Impl{{oneapi::tbb::global_control::max_allowed_parallelism,
                      std::max<std::size_t>(std::thread::hardware_concurrency(), workers + 1)}}) {}

Scheduler::~Scheduler() { oneapi::tbb::finalize(impl_->handle, std::nothrow); }

// Messages are tickets; slabs are the credit: no free slab, no new ticket, so memory is bounded by construction.
// oneTBB routes and computes. What may block (reading, copies to a device) runs on threads of the line's own, which
// talk to the graph through an async_node and bounded queues. No body throws: an error stays in the batch's slab, and
// the ticket goes on as `bad`, so the sequence never has a gap.
struct Line::Impl {
  enum class State { built, running, stopped };  // only forwards

  using PlanNode = flow::multifunction_node<std::uint32_t, std::tuple<Ticket, Ticket, Ticket>>;
  using ScheduleNode = flow::multifunction_node<Ticket, std::tuple<Ticket>>;
  using Read = flow::async_node<Ticket, Ticket>;
  using Sample = flow::multifunction_node<Ticket, std::tuple<Ticket, Ticket>>;

  explicit Impl(LineParts given) : parts(std::move(given)), layout(parts.sampler.fields(), parts.batch) {
    // A graph belongs to the arena of the thread that makes it. One slot more than workers, so that routing never
    // queues behind sampling; how many sample at once is the sample node's own limit.
    arena.execute([this] { build(); });
  }

  void build() {
    wiring = {};
    graph = std::make_unique<flow::graph>();
    allocate_slabs();
    make_plan();
    make_schedule();
    make_read();
    make_sample();
    make_order();
    make_transfer();
    wire();
    graph->wait_for_all();  // make_edge leaves tasks behind; nodes must not be dropped before those have run
  }

  // All edges of the line. `accept` is where the next thread begins: the transfer, or compute.
  void wire() {
    const std::string batches = "queue of " + std::to_string(slabs.size()) + " batches";
    if (read) {
      wiring.connect<0>(*plan, *read, "queue of " + std::to_string(to_read->capacity()) + " chunks");
      wiring.connect(*read, *sample);
      wiring.connect<1>(*sample, *read, "substitutes for bad samples");
    } else {
      wiring.connect<0>(*plan, *sample, std::to_string(chunks_of(parts.workers)) + " chunks a batch");
    }
    wiring.connect<0>(*sample, *in_order, "last row done");
    if (schedule) {
      wiring.connect<2>(*plan, *schedule);
      wiring.connect<0>(*schedule, *in_order);
    }
    wiring.connect<1>(*plan, *in_order, "errors");
    wiring.connect(*in_order, *accept, batches);
    if (to_transfer) wiring.connect(transferred, *to_compute, batches);
    wiring.connect(given_back, *plan, "free slab");
  }

  // -- nodes, in the order of a batch's way ---------------------------------------------------------------------------

  void allocate_slabs() {
    const std::uint32_t count = Line::slabs(parts.prefetch);
    for (std::uint32_t slot = 0; slot < count; ++slot) slabs.push_back(std::make_unique<Slab>(layout, parts.device));
  }

  // A free slab is the message that asks for the next ticket. (An input_node and a reserving join would say the same,
  // but that join allocates whenever it finds no slab.)
  void make_plan() {
    plan =
        std::make_unique<PlanNode>(*graph, flow::serial, [this](std::uint32_t slot, PlanNode::output_ports_type& out) {
          plan_body(slot, out);
          handed_over(this);
        });
    wiring.add(plan.get(), "plan",
               "plan\nnext iteration, positions, records\n" + std::to_string(slabs.size()) + " slabs of " +
                   std::to_string(layout.bytes()) + " bytes");
  }

  // Beside reading; for the sequence, one more part of the batch.
  void make_schedule() {
    if (!parts.schedule) return;
    schedule = std::make_unique<ScheduleNode>(*graph, flow::serial,
                                              [this](Ticket ticket, ScheduleNode::output_ports_type& out) {
                                                schedule_body(ticket, std::get<0>(out));
                                                handed_over(this);
                                              });
    wiring.add(schedule.get(), "schedule", "schedule\nhyper-parameters");
  }

  void make_read() {
    if (parts.dataset.resident()) return;  // nothing to wait for: the sample stage looks the bytes up itself
    to_read = std::make_unique<BoundedQueue<Ticket>>(slabs.size() * chunks_of(parts.workers));
    read = std::make_unique<Read>(*graph, flow::serial, [this](const Ticket& ticket, Read::gateway_type&) {
      to_read->try_push(ticket);  // never full: its depth is all chunks of all slabs
    });
    wiring.add(read.get(), "read", "read\n" + counted(parts.readers, "thread"), true);
  }

  void make_sample() {
    sample =
        std::make_unique<Sample>(*graph, parts.workers, [this](const Ticket& ticket, Sample::output_ports_type& out) {
          sample_body(ticket, out);
          handed_over(this);
        });
    wiring.add(sample.get(), "sample", "sample\n" + counted(parts.workers, "worker") + ", rows in place");
  }

  void make_order() {
    in_order = std::make_unique<flow::sequencer_node<Ticket>>(
        *graph, [first = next_seq](const Ticket& ticket) { return ticket.seq - first; });
    wiring.add(in_order.get(), "sequence", "sequence");
  }

  void make_transfer() {
    to_compute = std::make_unique<BoundedQueue<Ticket>>(slabs.size());
    if (parts.device.copies()) to_transfer = std::make_unique<BoundedQueue<Ticket>>(slabs.size());
    auto& out = to_transfer ? *to_transfer : *to_compute;
    accept = std::make_unique<flow::function_node<Ticket>>(*graph, flow::serial, [this, &out](const Ticket& ticket) {
      taken_over(slabs[ticket.slot].get());
      if (!out.try_push(ticket) && !stopping)
        fail(std::make_exception_ptr(InternalError("a queue of the line is full")));
      handed_over(this);
    });
    wiring.add(to_compute.get(), Wiring::line_end, "compute", true);
    wiring.alias(&given_back, Wiring::line_end);
    if (to_transfer) {
      wiring.add(accept.get(), "transfer", "pin / transfer\n" + parts.device.name(), true);
      wiring.alias(&transferred, "transfer");
    } else {
      wiring.alias(accept.get(), Wiring::line_end);
    }
  }

  // -- bodies ---------------------------------------------------------------------------------------------------------

  void plan_body(std::uint32_t slot, PlanNode::output_ports_type& out) {
    if (stopping || failed || next_ticket.over()) return;
    Slab& slab = *slabs[slot];
    taken_over(&slab);
    Ticket ticket = next_ticket();
    ticket.seq = next_seq++;
    ticket.slot = slot;
    free_count.fetch_sub(1);
    const std::uint32_t chunks = prepare(ticket, slab);
    handed_over(&slab);
    if (failed) {
      ticket.kind = TicketKind::bad;
      std::get<1>(out).try_put(ticket);
      return;
    }
    if (schedule) std::get<2>(out).try_put(ticket);
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      ticket.chunk = static_cast<std::uint8_t>(chunk);
      std::get<0>(out).try_put(ticket);
    }
  }

  // Gives the slab its plan, positions and records; returns the number of chunks. An error takes its turn like any
  // other: as a bad batch, which is the line's last.
  std::uint32_t prepare(const Ticket& ticket, Slab& slab) try {
    slab.plan() = parts.plan ? parts.plan(ticket.iteration) : Plan{.iteration = ticket.iteration};
    const std::uint32_t chunks = issue_stage(ticket, slab);
    if (schedule) slab.add_part();
    return chunks;
  } catch (...) {
    failed = true;
    slab.fail(std::current_exception());
    return 0;
  }

  template <class Port>
  void schedule_body(const Ticket& ticket, Port& out) {
    Slab& slab = *slabs[ticket.slot];
    taken_over(&slab);
    try {
      parts.schedule(slab.plan());
    } catch (...) {
      slab.fail(std::current_exception());
    }
    finish_part(ticket, slab, out);
  }

  // Of a batch; the last one sends it on.
  template <class Port>
  void finish_part(Ticket ticket, Slab& slab, Port& out) {
    if (!slab.chunk_done()) return;
    if (slab.error()) ticket.kind = TicketKind::bad;
    handed_over(&slab);
    out.try_put(ticket);
  }

  const RowWork* rows_of(const Ticket& ticket) const { return slabs[ticket.slot]->chunk(ticket.chunk).data(); }

  void take_chunk(const Ticket& ticket) const {
    taken_over(slabs[ticket.slot].get());  // by plan, which says what rows the chunk has
    taken_over(rows_of(ticket));           // by read, or by sample where a row is read again
  }

  void read_loop() {
    Ticket ticket;
    while (to_read->pop(ticket)) {
      read_chunk(ticket);
      read->gateway().try_put(ticket);
    }
  }

  void read_chunk(const Ticket& ticket) {
    StageClock::Scope busy(read_clock);
    const auto span = span_of("read", ticket);
    Slab& slab = *slabs[ticket.slot];
    take_chunk(ticket);
    try {
      read_rows(parts.dataset, slab.chunk(ticket.chunk));
    } catch (...) {
      slab.fail(std::current_exception());
    }
    handed_over(rows_of(ticket));
  }

  void sample_body(const Ticket& ticket, Sample::output_ports_type& out) {
    Slab& slab = *slabs[ticket.slot];
    take_chunk(ticket);
    if (!sample_chunk(slab, ticket)) {
      handed_over(rows_of(ticket));
      std::get<1>(out).try_put(ticket);
      return;
    }
    finish_part(ticket, slab, std::get<0>(out));
  }

  // False: some rows must be read again.
  bool sample_chunk(Slab& slab, const Ticket& ticket) {
    StageClock::Scope busy(sample_clock);
    const auto span = span_of("sample", ticket);
    if (slab.error()) return true;
    try {
      for (;;) {
        if (!read) read_rows(parts.dataset, slab.chunk(ticket.chunk));
        if (sample_stage(slab, ticket.chunk)) return true;
        if (read) return false;
      }
    } catch (...) {
      slab.fail(std::current_exception());
      return true;
    }
  }

  Profile::Span span_of(std::string_view stage, const Ticket& ticket) const {
    return {parts.profile, parts.name, stage, ticket.iteration};
  }

  void transfer_loop() {
    Ticket ticket;
    while (to_transfer->pop(ticket)) {
      if (ticket.kind == TicketKind::batch) try {
          StageClock::Scope busy(transfer_clock);
          const auto span = span_of("transfer", ticket);
          Slab& slab = *slabs[ticket.slot];
          parts.device.start_copy(ticket.slot, slab.device(), slab.host(), layout.bytes());
        } catch (...) {
          slabs[ticket.slot]->fail(std::current_exception());
          ticket.kind = TicketKind::bad;
        }
      if (!transferred.to->push(ticket)) return;
    }
  }

  // -- life -----------------------------------------------------------------------------------------------------------

  void start() {
    if (state != State::built) throw InternalError("a line starts once");
    state = State::running;
    run();
  }

  void run() {
    graph->reserve_wait();  // the threads below may put tickets at any time until stop()
    arena_thread = named_thread("ft-" + parts.name, [this] { arena.execute([this] { graph->wait_for_all(); }); });
    if (to_read)
      for (unsigned i = 0; i < parts.readers; ++i) threads.push_back(named_thread("ft-read", [this] { read_loop(); }));
    if (to_transfer) threads.push_back(named_thread("ft-transfer", [this] { transfer_loop(); }));
    free_count = static_cast<std::uint32_t>(slabs.size());
    for (std::uint32_t slot = 0; slot < slabs.size(); ++slot) given_back.to->try_put(slot);
  }

  void fail(const std::exception_ptr& what) {
    {
      MutexLock lock(error_mutex);
      if (!error) error = what;
    }
    to_compute->close();  // wakes compute, which rethrows and stops the line
  }

  void stop() {
    if (state == State::stopped) return;
    const bool started = state == State::running;
    state = State::stopped;
    stopping = true;
    close_queues();
    parts.dataset.cancel_reads();
    if (started) join();
  }

  void close_queues() {
    if (to_read) to_read->close();
    if (to_transfer) to_transfer->close();
    to_compute->close();
  }

  // The queues are closed.
  void join() {
    graph->cancel();
    threads.clear();  // joins
    graph->release_wait();
    arena_thread.join();
    taken_over(this);  // by every body that ran
  }

  // All slabs that compute has got are back.
  void rebuild(const LineShape& shape) {
    stopping = true;
    close_queues();
    join();
    forget_unread();
    accept.reset(), in_order.reset(), sample.reset(), read.reset(), schedule.reset(), plan.reset(), graph.reset();
    to_read.reset(), to_transfer.reset(), to_compute.reset();
    slabs.clear();
    parts.workers = shape.workers;
    parts.readers = shape.readers;
    parts.prefetch = shape.prefetch;
    issue_stage.set_chunks(chunks_of(parts.workers));
    next_ticket.restart(begin + received);
    next_seq = received;
    stopping = failed = false;
    arena.terminate();
    arena.initialize(static_cast<int>(parts.workers) + 1);
    arena.execute([this] { build(); });
    run();
  }

  // What was hinted and prefetched for batches that are dropped. A row that was read is hinted anew.
  void forget_unread() const {
    if (!parts.dataset.takes_hints()) return;
    for (auto& slab : slabs)
      for (auto& row : slab->rows())
        if (row.state == RowWork::State::pending && row.replaced == 0) parts.dataset.forget(row.id);
  }

  LineParts parts;
  SlabLayout layout;
  // Batches of the stream that it delivers.
  const std::uint64_t begin = (parts.first - 1) * parts.accum, end = parts.last == LineParts::endless
                                                                         ? LineParts::endless
                                                                         : std::max(parts.last * parts.accum, begin);
  IssueStage issue_stage{parts.order, parts.batches, parts.slice, parts.accum, chunks_of(parts.workers)};
  // The plan node's, which is serial:
  LookAhead next_ticket{begin, end, parts.accum, issue_stage, parts.dataset, parts.read_ahead};
  bool failed = false;
  std::uint64_t next_seq = 0;
  SampleStage sample_stage{parts.dataset, parts.sampler, parts.seed};
  std::vector<std::unique_ptr<Slab>> slabs;
  StageClock read_clock, sample_clock, transfer_clock;
  Wiring wiring;

  State state = State::built;
  std::atomic<bool> stopping{false};
  std::uint64_t received = 0;  // by next(), one thread
  std::atomic<std::uint32_t> free_count{0};
  Mutex error_mutex;
  std::exception_ptr error FT_GUARDED_BY(error_mutex);

  std::unique_ptr<BoundedQueue<Ticket>> to_read, to_transfer, to_compute;
  Outlet<BoundedQueue<Ticket>> transferred;  // of the transfer thread
  Outlet<PlanNode> given_back;               // of the compute thread

  // Nodes are declared after their graph, so that they go first.
  oneapi::tbb::task_arena arena{static_cast<int>(parts.workers) + 1};
  std::unique_ptr<flow::graph> graph;
  std::unique_ptr<PlanNode> plan;
  std::unique_ptr<ScheduleNode> schedule;
  std::unique_ptr<Read> read;
  std::unique_ptr<Sample> sample;
  std::unique_ptr<flow::sequencer_node<Ticket>> in_order;
  std::unique_ptr<flow::function_node<Ticket>> accept;
  std::jthread arena_thread;
  std::vector<std::jthread> threads;
};

Line::Line(LineParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
Line::~Line() { impl_->stop(); }
void Line::start() { impl_->start(); }
void Line::cancel_reads() const { impl_->parts.dataset.cancel_reads(); }
void Line::stop() { impl_->stop(); }
Slab& Line::slab(const Ticket& ticket) { return *impl_->slabs[ticket.slot]; }
std::vector<StreamRow> Line::rows(const Ticket& ticket) const { return impl_->issue_stage.rows(ticket); }
const SlabLayout& Line::layout() const { return impl_->layout; }
const Drawing& Line::drawing() const { return impl_->wiring.drawing(); }

bool Line::next(Ticket& ticket) {
  if (impl_->received == impl_->end - impl_->begin) return false;
  if (impl_->to_compute->pop(ticket)) {
    if (ticket.seq != impl_->received++) throw InternalError("the line lost a ticket: out of sequence");
    return true;
  }
  MutexLock lock(impl_->error_mutex);
  if (impl_->error) std::rethrow_exception(impl_->error);
  return false;
}

void Line::retune(const LineShape& shape) {
  if (impl_->state == Impl::State::running && impl_->received < impl_->end - impl_->begin) impl_->rebuild(shape);
}

LineShape Line::shape() const { return {impl_->parts.workers, impl_->parts.readers, impl_->parts.prefetch}; }

void Line::release(const Ticket& ticket) {
  // The slab's memory is about to be filled again: the copy that reads it must be over (on the CPU nothing to wait
  // for).
  if (impl_->parts.device.copies()) impl_->parts.device.wait_host_free(ticket.slot);
  impl_->free_count.fetch_add(1);
  handed_over(&slab(ticket));
  impl_->given_back.to->try_put(ticket.slot);
}

LineTimes Line::times() const {
  return {impl_->read_clock.busy_s(), impl_->sample_clock.busy_s(), impl_->transfer_clock.busy_s()};
}

void Line::check_finished() const {
  const Impl& line = *impl_;
  const std::size_t waiting = line.to_compute->size() + (line.to_read ? line.to_read->size() : 0) +
                              (line.to_transfer ? line.to_transfer->size() : 0);
  if (line.received != line.end - line.begin || line.received != line.next_seq ||
      line.free_count != line.slabs.size() || waiting != 0)
    throw InternalError("the line '" + line.parts.name + "' did not finish clean: " + std::to_string(line.received) +
                        " of " + std::to_string(line.end - line.begin) + " tickets, " +
                        std::to_string(line.free_count.load()) + " of " + std::to_string(line.slabs.size()) +
                        " slabs free, " + std::to_string(waiting) + " tickets left");
}

}  // namespace flowtrain
