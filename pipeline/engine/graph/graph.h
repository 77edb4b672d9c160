#pragma once
// The flow graph. A Loader carries batches from ticket to compute; graph.cpp shows its wiring.

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

/// oneTBB's workers, for all loaders of the process: made before the first loader and kept until the last is gone.
class Scheduler {
 public:
  /// `workers` counts the sampling threads of all loaders together; it may exceed the cores.
  explicit Scheduler(unsigned workers);
  ~Scheduler();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The shape of a loader. It may change while the loader runs, because no delivered value depends on it.
struct LoaderShape {
  unsigned workers = 1;        ///< threads that sample
  unsigned readers = 1;        ///< threads that read
  std::uint32_t prefetch = 4;  ///< batches ready or in progress ahead of the one in compute

  bool operator==(const LoaderShape&) const = default;
};

/// The iterations that a loader delivers, and what it attaches to them.
struct LoaderIterations {
  static constexpr std::uint64_t endless = ~std::uint64_t{0};

  std::uint64_t first = 1, last = endless;
  /// Returns the plan of an iteration; null: it is only numbered. One thread at a time calls it.
  std::function<Plan(std::uint64_t)> plan = {};
  /// Fills in the plan's hyper-parameters while batches load; null: there are none.
  std::function<void(Plan&)> schedule = {};
};

/// The parts of a loader. The references must outlive it.
struct LoaderParts {
  std::string name;  ///< "train", "val": in thread names and in the drawing
  const Dataset& dataset;
  const Order& order;
  const Sampler& sampler;
  Device& device;
  Batches batches;
  std::uint64_t seed = 0;
  std::uint32_t batch = 1;  ///< greatest number of rows of a slab
  std::uint32_t accum = 1;  ///< micro-batches per iteration
  LoaderShape shape = {};
  LoaderIterations iterations = {};
  Slice slice = {};                 ///< part of each batch that this process takes
  const ShapePlan* plan = nullptr;  ///< plan of batches whose rows have free axes (BatchPlanner); may be null
  std::uint64_t read_ahead = 0;     ///< rows beyond the prefetch that are hinted to a remote data set
  Profile* profile = nullptr;       ///< records the work of each stage; may be null
  Every hash_every = {};            ///< iterations whose rows are hashed (Loader::row_hashes)
  bool tries_threads = false;       ///< threads pause now and then, to measure the contribution of one: ThreadTrial
};

/// The work of each stage since the start.
struct LoaderTimes {
  StageTimes plan, read, sample, transfer;
  double ready = 0;         ///< sum, over the calls of next(), of the share of the batches ahead that were ready
  std::uint64_t asked = 0;  ///< calls of next()
  /// The rate of a stage in its present shape with one thread less, as a share of its rate; nothing: not known.
  std::optional<double> read_without_one = {}, sample_without_one = {};
};

/// A data loader delivers filled slabs in sequence, each with its iteration's plan. It is built, started once, then
/// stopped. In between it may be rebuilt in another shape.
class Loader {
 public:
  explicit Loader(LoaderParts parts);
  ~Loader();
  Loader(const Loader&) = delete;

  /// Returns the number of slabs for a prefetch depth: one more is in compute, and one may be on its way to the device.
  static std::uint32_t slabs(std::uint32_t prefetch) { return prefetch + 2; }

  void start();
  /// Waits for the next ticket in sequence. Its slab is ready for compute (after Device::wait_copy). Returns false at
  /// the end or after stop(). One thread calls it. Rethrows errors of the graph itself; a failed batch comes as kind
  /// `bad`.
  bool next(Ticket& ticket);
  /// Waits like next(), but returns nothing after about `patience` without a ticket.
  std::optional<bool> next_within(Ticket& ticket, std::chrono::microseconds patience);
  Slab& slab(const Ticket& ticket);
  /// Returns the place of the batch, for a profile.
  BatchPlace place(const Ticket& ticket) const;
  /// Marks a forward pass of the caller over the batch in the loader's profile
  /// (pipeline/engine/graph/loader_forward.h).
  LoaderForward forward(const Ticket& ticket) const;
  /// Returns positions and records of the whole batch, of all processes, before bad ones were replaced.
  std::vector<StreamRow> rows(const Ticket& ticket) const;
  /// Returns hashes of this process's rows in a batch whose iteration is due by LoaderParts::hash_every; row by row,
  /// one for each field (XXH3). They are valid until the slab is released.
  std::span<const std::uint64_t> row_hashes(const Ticket& ticket) const;
  /// Gives a slab back, which permits another batch to start. Compute thread.
  void release(const Ticket& ticket);
  /// Builds the loader anew in another shape; it continues with the batch after the last one that was given. Prepared
  /// batches are dropped and prepared again. The Scheduler must have as many workers, and the device as many slots.
  /// Compute thread, holding no slab, not while another thread calls stop().
  void retune(const LoaderShape& shape);
  /// Returns the current shape.
  LoaderShape shape() const;
  /// Makes reads that wait for an unreachable server fail from now on: their samples are bad. Any thread.
  void cancel_reads() const;
  /// Stops and joins everything; drops prepared batches, and cancels reads. Any thread but the loader's own;
  /// idempotent.
  void stop();
  /// Throws InternalError unless every slab came home and every queue is empty, after all tickets were given.
  void check_finished() const;

  const SlabLayout& layout() const;
  LoaderTimes times() const;
  /// Returns the loader's nodes and edges as built, with queue depths.
  const Drawing& drawing() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain
