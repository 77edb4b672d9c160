#pragma once
// The flow graph. A Loader is the way of one batch, from ticket to compute; graph.cpp shows it being wired.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/telemetry/drawing.h"
#include "sampling/batches.h"
#include "sampling/order.h"
#include "sampling/sampler.h"
#include "stages/core/every.h"
#include "stages/core/ticket.h"
#include "stages/device/device.h"
#include "stages/loader/batch_planner.h"
#include "stages/loader/slab.h"
#include "stages/trace/clock.h"

namespace flowtrain {

class Profile;
struct BatchPlace;
struct LoaderForward;

/// oneTBB's workers, for all loaders of the process: make one before the first loader, keep it until the last is gone.
class Scheduler {
 public:
  /// `workers`: sampling threads of all loaders together; may exceed the cores.
  explicit Scheduler(unsigned workers);
  ~Scheduler();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a loader is made of. The references must outlive it.
struct LoaderParts {
  std::string name;  ///< "train", "val": in thread names and in the drawing
  const Dataset& dataset;
  const Order& order;
  const Sampler& sampler;
  Device& device;
  Batches batches;
  std::uint64_t seed = 0;
  std::uint32_t batch = 1;     ///< rows of a slab: the most that the slice has
  std::uint32_t accum = 1;     ///< micro-batches per iteration
  unsigned workers = 1;        ///< threads that sample
  unsigned readers = 1;        ///< threads that read
  std::uint32_t prefetch = 4;  ///< batches ready or under way ahead of the one in compute
  static constexpr std::uint64_t endless = ~std::uint64_t{0};
  std::uint64_t first = 1, last = endless;  ///< iterations that it delivers
  /// What an iteration is to do; null: it is only numbered. Called by one thread at a time.
  std::function<Plan(std::uint64_t)> plan = {};
  /// Fills in the plan's hyper-parameters, beside loading; null: there are none.
  std::function<void(Plan&)> schedule = {};
  Slice slice = {};              ///< of each batch, that this process takes
  std::uint64_t read_ahead = 0;  ///< rows beyond the prefetch that are hinted to a remote data set
  Profile* profile = nullptr;    ///< told when each stage works; null: nobody asks
  Every hash_every = {};         ///< iterations whose rows are hashed (Loader::row_hashes)
  bool tries_threads = false;    ///< threads pause now and then, to measure what one of them is worth: ThreadTrial
};

/// What of a loader may change while it runs, as nothing that it delivers depends on it.
struct LoaderShape {
  unsigned workers = 1, readers = 1;
  std::uint32_t prefetch = 4;

  bool operator==(const LoaderShape&) const = default;
};

/// What each stage did since the start.
struct LoaderTimes {
  StageTimes plan, read, sample, transfer;
  double ready = 0;         ///< sum, over the calls of next(), of the share of the batches ahead that were ready
  std::uint64_t asked = 0;  ///< calls of next()
  /// In its present shape: the rate of a stage with one thread less, as a share of its rate; nothing: not known.
  std::optional<double> read_without_one = {}, sample_without_one = {};
};

/// A data loader: filled slabs come out, in sequence, each with its iteration's plan. Built, then started once, then
/// stopped; only forwards. In between it may be rebuilt in another shape.
class Loader {
 public:
  explicit Loader(LoaderParts parts);
  ~Loader();
  Loader(const Loader&) = delete;

  /// Slabs that a loader has for a prefetch depth: one more is in compute, and one may be on its way to the device.
  static std::uint32_t slabs(std::uint32_t prefetch) { return prefetch + 2; }

  void start();
  /// Waits for the next ticket in sequence. Its slab is ready for compute (after Device::wait_copy). False: all were
  /// given, or it was stopped. One thread calls this. Rethrows what went wrong in the graph itself; a batch that failed
  /// comes as kind `bad`.
  bool next(Ticket& ticket);
  /// The same, but after about `patience` without one: nothing. For a thread that has other signals to heed meanwhile.
  std::optional<bool> next_within(Ticket& ticket, std::chrono::microseconds patience);
  Slab& slab(const Ticket& ticket);
  /// Which batch it is, for a profile.
  BatchPlace place(const Ticket& ticket) const;
  /// A forward pass of the caller over the batch, for the loader's profile (pipeline/engine/graph/loader_forward.h).
  LoaderForward forward(const Ticket& ticket) const;
  /// Positions and records of the whole batch, of all processes, before bad ones were replaced.
  std::vector<StreamRow> rows(const Ticket& ticket) const;
  /// Hashes of the rows of this process, of a batch whose iteration is due by LoaderParts::hash_every; row by row, one
  /// for each field (XXH3). Until the slab is released.
  std::span<const std::uint64_t> row_hashes(const Ticket& ticket) const;
  /// Gives a slab back, which is the permission to start another batch. Compute thread.
  void release(const Ticket& ticket);
  /// Builds the loader anew in another shape; it goes on with the batch after the last one that was given. What was
  /// prepared is dropped and prepared again. The Scheduler must have as many workers, and the device as many slots.
  /// Compute thread, holding no slab, not while another thread calls stop().
  void retune(const LoaderShape& shape);
  /// As built last.
  LoaderShape shape() const;
  /// From now on reads that wait for a server that is away fail: their samples are bad. Any thread.
  void cancel_reads() const;
  /// Stops and joins everything; what was prepared is dropped, and reads are canceled. Any thread but the loader's own;
  /// idempotent.
  void stop();
  /// After all tickets were given: throws InternalError unless every slab came home and every queue is empty.
  void check_finished() const;

  const SlabLayout& layout() const;
  LoaderTimes times() const;
  /// The loader's nodes and edges as built, with queue depths.
  const Drawing& drawing() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain
