#include "pipeline/engine/graph/graph.h"

// These bring global_control, task_arena and task_scheduler_observer; loader_nodes.h brings flow::graph.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <pthread.h>

#include <optional>
#include <thread>
#include <utility>

#include "pipeline/engine/graph/loader_forward.h"
#include "pipeline/engine/graph/loader_nodes.h"
#include "pipeline/engine/graph/wiring.h"
#include "sampling/core/cpus.h"
#include "sampling/core/text.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

struct Scheduler::Impl {
  oneapi::tbb::global_control limit;
  oneapi::tbb::task_scheduler_handle handle{oneapi::tbb::attach{}};
};

Scheduler::Scheduler(unsigned workers)
    : impl_(new Impl{{oneapi::tbb::global_control::max_allowed_parallelism,
                      std::max<std::size_t>(usable_cores(), workers + 1)}}) {}

Scheduler::~Scheduler() { oneapi::tbb::finalize(impl_->handle, std::nothrow); }

namespace {

std::string counted(unsigned number, const std::string& what) {
  return concat(number, " ", what, number == 1 ? "" : "s");
}

std::vector<std::unique_ptr<Slab>> slabs_of(const LoaderState& state) {
  std::vector<std::unique_ptr<Slab>> slabs(Loader::slabs(state.parts.shape.prefetch));
  for (auto& slab : slabs) slab = std::make_unique<Slab>(state.layout, state.parts.device);
  return slabs;
}

/// Calls oneTBB's threads "ft-worker" once they work here: otherwise each has the name of the thread that started it.
class WorkerNames : public oneapi::tbb::task_scheduler_observer {
 public:
  explicit WorkerNames(oneapi::tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~WorkerNames() override { observe(false); }
  WorkerNames(const WorkerNames&) = delete;
  WorkerNames& operator=(const WorkerNames&) = delete;

  void on_scheduler_entry(bool is_worker) override {
    thread_local bool named = false;
    if (is_worker && !std::exchange(named, true)) pthread_setname_np(pthread_self(), "ft-worker");
  }
};

/// A flow graph in an arena of its own, and a thread that waits there, so that work starts promptly.
class GraphArena {
 public:
  /// The arena has one slot more than workers, so that routing never queues behind sampling; the sample node limits
  /// itself.
  explicit GraphArena(unsigned workers) : arena_(static_cast<int>(workers) + 1) {
    arena_.execute([this] { graph_.emplace(); });  // the graph belongs to the arena of the thread that makes it
  }

  flow::graph& graph() { return *graph_; }
  void wait_for_all() {
    arena_.execute([this] { graph_->wait_for_all(); });
  }
  /// Lets other threads put messages at any time from now on, until join().
  void start(const std::string& thread_name) {
    graph_->reserve_wait();
    thread_ = named_thread(thread_name, [this] { wait_for_all(); });
  }
  void join() {
    graph_->release_wait();
    thread_.join();
  }

 private:
  oneapi::tbb::task_arena arena_;
  WorkerNames names_{arena_};
  std::optional<flow::graph> graph_;
  std::jthread thread_;
};

/// The graph of a loader in one shape. Started, closed and joined once, in this order.
class LoaderGraph {
 public:
  explicit LoaderGraph(LoaderState& state)
      : arena_(state.parts.shape.workers),
        loader_{state, arena_.graph(), slabs_of(state)},
        in_order_(loader_.graph, [first = state.received](const Ticket& ticket) { return ticket.seq - first; }),
        accept_(loader_.graph, flow::serial, loader_.body([this](const Ticket& ticket) {
          end_.accept(ticket, transfer_ ? transfer_->queue : end_.queue);
        })) {
    if (state.parts.iterations.schedule) schedule_.emplace(loader_);
    if (!state.parts.dataset.resident()) read_.emplace(loader_);
    if (state.parts.device.copies()) transfer_.emplace(loader_);
    drawing_ = wire();
    arena_.wait_for_all();  // make_edge leaves tasks behind; nodes must not be dropped before those have run
  }

  void start() {
    arena_.start("ft-" + loader_.parts.name);
    if (read_)
      for (unsigned i = 0; i < loader_.parts.shape.readers; ++i)
        threads_.push_back(named_thread("ft-read", [this] { read_->loop(); }));
    if (transfer_) threads_.push_back(named_thread("ft-transfer", [this] { transfer_->loop(); }));
    loader_.free_slabs = static_cast<std::uint32_t>(loader_.slabs.size());
    for (std::uint32_t slot = 0; slot < loader_.slabs.size(); ++slot) end_.given_back.to->try_put(slot);
  }
  LoaderEnd& end() { return end_; }
  Slab& slab(const Ticket& ticket) { return loader_.slab(ticket); }
  const LoaderContext& context() const { return loader_; }
  std::span<const std::uint64_t> row_hashes(const Ticket& ticket) const {
    return loader_.hashes[ticket.slot]->values().first(loader_.slab(ticket).rows().size() *
                                                       loader_.state.layout.fields().size());
  }
  /// Wakes all waiting threads; no new work begins.
  void close() {
    loader_.stopping = true;
    if (read_) read_->queue.close();
    if (transfer_) transfer_->queue.close();
    end_.queue.close();
  }
  void join() {
    loader_.graph.cancel();
    threads_.clear();  // joins
    arena_.join();
    taken_over(&loader_);  // passed on by every body that ran
  }
  /// Forgets hints and prefetches of dropped batches. A row that was read is hinted anew.
  void forget_unread() const {
    if (!loader_.parts.dataset.takes_hints()) return;
    for (auto& slab : loader_.slabs)
      for (auto& row : slab->rows())
        if (row.state == RowWork::State::pending && row.replaced == 0) loader_.parts.dataset.forget(row.id);
  }
  void check_finished() const {
    const LoaderState& state = loader_.state;
    const std::size_t slabs = loader_.slabs.size(), free = loader_.free_slabs;
    const std::size_t waiting =
        end_.queue.size() + (read_ ? read_->queue.size() : 0) + (transfer_ ? transfer_->queue.size() : 0);
    if (state.received != state.batches() || state.received != plan_.next_seq() || free != slabs || waiting != 0)
      throw InternalError(concat("the loader '", loader_.parts.name, "' did not finish cleanly: ", state.received,
                                 " of ", state.batches(), " tickets, ", free, " of ", slabs, " slabs free, ", waiting,
                                 " tickets left"));
  }
  const Drawing& drawing() const { return drawing_; }

 private:
  // Connects all nodes and edges of the loader.
  Drawing wire() {
    const LoaderParts& parts = loader_.parts;
    const std::size_t slabs = loader_.slabs.size();
    const std::string batches = concat("queue of ", slabs, " batches");
    Wiring wiring;
    wiring.add(&plan_, "plan",
               concat("plan\nnext iteration, positions, records\n", slabs, " slabs of ", loader_.state.layout.bytes(),
                      " bytes"));
    if (schedule_) wiring.add(&*schedule_, "schedule", "schedule\nhyper-parameters");
    if (read_) wiring.add(&*read_, "read", "read\n" + counted(parts.shape.readers, "thread"), true);
    wiring.add(&sample_, "sample", "sample\n" + counted(parts.shape.workers, "worker") + ", rows in place");
    wiring.add(&in_order_, "sequence", "sequence");
    wiring.add(&end_.queue, Wiring::loader_end, "compute", true);
    wiring.alias(&end_.given_back, Wiring::loader_end);
    if (transfer_) wiring.add(&transfer_->copied, "transfer", "pin / transfer\n" + parts.device.name(), true);
    wiring.alias(&accept_, transfer_ ? "transfer" : Wiring::loader_end);

    if (read_) {
      wiring.connect<PlanNode::chunks>(plan_, *read_, concat("queue of ", read_->queue.capacity(), " chunks"));
      wiring.connect(*read_, sample_);
      wiring.connect<SampleNode::unread>(sample_, *read_, "substitutes for bad samples");
    } else {
      wiring.connect<PlanNode::chunks>(plan_, sample_, concat(chunks_of(parts.shape.workers), " chunks a batch"));
    }
    wiring.connect<SampleNode::batches>(sample_, in_order_, "last row done");
    if (schedule_) {
      wiring.connect<PlanNode::plans>(plan_, *schedule_);
      wiring.connect<0>(*schedule_, in_order_);
    }
    wiring.connect<PlanNode::errors>(plan_, in_order_, "errors");
    wiring.connect(in_order_, accept_, batches);
    if (transfer_) wiring.connect(transfer_->copied, end_.queue, batches);
    wiring.connect(end_.given_back, plan_, "free slab");
    return wiring.drawing();
  }

  GraphArena arena_;
  LoaderContext loader_;
  // Nodes are declared after their graph, so that they are destroyed first.
  PlanNode plan_{loader_};
  std::optional<ScheduleNode> schedule_;
  std::optional<ReadNode> read_;
  SampleNode sample_{loader_};
  flow::sequencer_node<Ticket> in_order_;
  flow::function_node<Ticket> accept_;
  LoaderEnd end_{loader_};
  std::optional<Transfer> transfer_;
  std::vector<std::jthread> threads_;
  Drawing drawing_;
};

}  // namespace

struct Loader::Impl {
  enum class Phase { built, running, stopped };  // goes only forwards

  // This is no aggregate: if a member of one that `new` makes throws, GCC 12 frees the memory twice.
  explicit Impl(LoaderParts parts) : state{std::move(parts)} {}

  bool is_over() const { return state.received == state.batches(); }
  bool receive(const Ticket& ticket) {
    if (ticket.seq != state.received++) throw InternalError("the loader lost a ticket: out of sequence");
    return true;
  }

  LoaderState state;
  std::optional<LoaderGraph> graph{std::in_place, state};
  Phase phase = Phase::built;
};

Loader::Loader(LoaderParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
Loader::~Loader() { stop(); }

void Loader::start() {
  if (impl_->phase != Impl::Phase::built) throw InternalError("a loader starts once");
  impl_->phase = Impl::Phase::running;
  impl_->graph->start();
}

bool Loader::next(Ticket& ticket) {
  return !impl_->is_over() && impl_->graph->end().next(ticket) && impl_->receive(ticket);
}

std::optional<bool> Loader::next_within(Ticket& ticket, std::chrono::microseconds patience) {
  if (impl_->is_over()) return false;
  const auto one = impl_->graph->end().next_within(ticket, patience);
  return one ? std::optional(*one && impl_->receive(ticket)) : std::nullopt;
}

void Loader::retune(const LoaderShape& shape) {
  auto& [state, graph, phase] = *impl_;
  if (phase != Impl::Phase::running || state.received == state.batches()) return;
  graph->close();
  graph->join();
  graph->forget_unread();
  graph.reset();
  state.parts.shape = shape;
  state.read_trial.restart();
  state.sample_trial.restart();
  state.planner.set_chunks(chunks_of(shape.workers));
  state.next_ticket.restart(state.begin + state.received);
  graph.emplace(state);
  graph->start();
}

void Loader::stop() {
  const auto phase = std::exchange(impl_->phase, Impl::Phase::stopped);
  if (phase == Impl::Phase::stopped || !impl_->graph) return;  // no graph: it could not be made in another shape
  impl_->graph->close();
  cancel_reads();
  if (phase != Impl::Phase::running) return;
  impl_->graph->join();
  // The data set may live on with another loader.
  impl_->graph->forget_unread();
  impl_->state.next_ticket.restart(impl_->state.begin);
}

Slab& Loader::slab(const Ticket& ticket) { return impl_->graph->slab(ticket); }
BatchPlace Loader::place(const Ticket& ticket) const { return impl_->graph->context().place(ticket); }
LoaderForward Loader::forward(const Ticket& ticket) const {
  const LoaderContext& loader = impl_->graph->context();
  const auto work = loader.work(loader.names.forward, ticket);
  return {{loader.parts.profile, work},
          {loader.parts.profile, loader.parts.device, DeviceStream::compute, loader.names.compute_stream, work}};
}
std::vector<StreamRow> Loader::rows(const Ticket& ticket) const { return impl_->state.planner.rows(ticket); }
std::span<const std::uint64_t> Loader::row_hashes(const Ticket& ticket) const {
  return impl_->graph->row_hashes(ticket);
}
void Loader::release(const Ticket& ticket) { impl_->graph->end().release(ticket); }
void Loader::cancel_reads() const { impl_->state.reads.request_stop(); }
void Loader::check_finished() const { impl_->graph->check_finished(); }
const SlabLayout& Loader::layout() const { return impl_->state.layout; }
LoaderShape Loader::shape() const { return impl_->state.shape(); }
LoaderTimes Loader::times() const { return impl_->state.times(); }
const Drawing& Loader::drawing() const { return impl_->graph->drawing(); }

}  // namespace flowtrain
