#pragma once
// Measures where the time of a run goes: the phases of the compute thread, all the time; with --profile also the
// distribution of their times, and for a few iterations the work of every thread. Code that gets no Profile measures
// nothing and reads no clock.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sampling/core/mutex.h"
#include "stages/device/device.h"
#include "stages/device/device_range.h"
#include "stages/flight/flight.h"

namespace flowtrain {

/// The phases of the compute thread.
enum class Phase : std::uint8_t {
  data,      ///< waits for a batch
  transfer,  ///< waits for its copy and makes its tensors
  forward,   ///< net and loss
  backward,
  communication,  ///< waits for other processes' gradients
  gradients,      ///< computes their norm and clips them
  optimizer,
  validation,
  snapshot  ///< copies the state while training waits
};
inline constexpr std::size_t phases = 9;
const char* to_text(Phase phase);

/// The durations of one kind of work. It has a fixed size; percentiles are right to within five percent.
class Durations {
 public:
  void add(double duration_s);
  /// Subtracts time from the sum that belongs to other work.
  void take_away(double duration_s) { total_s_ -= duration_s; }
  std::uint64_t count() const { return count_; }
  double total_s() const { return total_s_; }
  double mean_s() const { return count_ > 0 ? total_s_ / static_cast<double>(count_) : 0; }
  /// Returns a percentile; `share` is 0.5 for the median.
  double percentile_s(double share) const;

 private:
  static constexpr double steps_ = 8;       // buckets to a factor of two
  static constexpr double least_s_ = 1e-7;  // duration of the first bucket
  std::array<std::uint64_t, 320> buckets_{};
  std::uint64_t count_ = 0;
  double total_s_ = 0;
};

/// The batch that a slice of the trace belongs to: slices of one batch are linked.
struct BatchPlace {
  static constexpr int whole = -1;

  const char* line = nullptr;  ///< name of its loader: "train", "val"; a literal or flight_name(). Null: no batch
  std::uint64_t number = 0;    ///< place in the loader's sequence, from 0
  int chunk = whole;           ///< part of the batch, from 0
};

/// Collects times. Phases belong to the compute thread, spans to any.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  /// Adds up the time of each phase for line_s() and nothing else: cheap enough for every run. Compute thread.
  Profile() = default;
  /// Covers iterations `first` to `last`. All is recorded in the window, which begins after the first ten and has ten;
  /// half and a quarter of a short run. The compute thread makes it.
  Profile(std::uint64_t first, std::uint64_t last);
  /// Returns whether --profile asks for more than the sums of phases. A phase then ends when the GPU is done.
  bool detailed() const { return window_.first > 0; }
  /// Times the device's streams, too, in the window, if it has any. The compute thread's `device` must outlive
  /// finish().
  void time_streams(Device& device) { timed_.device = &device; }

  /// Begins an iteration, or ends the run and waits for the times of streams. Compute thread.
  void begin_iteration(std::uint64_t iteration);
  void finish();
  /// Sets the batch of the compute thread's next passes.
  void begin_batch(const BatchPlace& batch) { batch_ = batch; }
  /// Returns whether the compute thread is at a phase, and in no other within it. Compute thread, and threads that it
  /// waits for.
  bool is_at(Phase phase) const;
  /// Returns whether the window is open. Any thread.
  bool recording() const { return recording_.load(std::memory_order_relaxed); }

  /// Returns whether work on an iteration's batch is recorded (0: on no particular one): in the window, and earlier if
  /// the window has that iteration. Any thread.
  bool records(std::uint64_t iteration) const {
    return recording() || (iteration > 0 && iteration >= window_.first && iteration <= window_.last);
  }

  /// Marks the compute thread's `phase` while it lives. An inner phase interrupts the time of the outer one. Without a
  /// profile it reports to the flight recorder and NVIDIA's profilers alone.
  class At {
   public:
    At(Profile* profile, Phase phase);
    ~At();
    At(const At&) = delete;

   private:
    friend class Profile;
    const Clock::time_point begin_;
    FlightSpan flight_;
    const DeviceRange range_;
    Profile* profile_;
    Phase phase_;
    At* outer_ = nullptr;
    double inner_s_ = 0;  // time of others within this one
  };

  /// The subject of a slice.
  struct Work {
    const char* name;  ///< a literal, or flight_name()
    BatchPlace batch = {};
    std::uint64_t iteration = 0;  ///< 0: unknown
  };

  /// Records work of the calling thread, if records(), while it lives. Without one only NVIDIA's profilers see it.
  class Span {
   public:
    Span(Profile* profile, const Work& work)
        : range_(work.name), profile_(profile && profile->records(work.iteration) ? profile : nullptr), work_(work) {
      if (profile_) begin_ = Clock::now();
    }
    ~Span();
    Span(const Span&) = delete;

   private:
    const DeviceRange range_;
    Profile* profile_;
    Work work_;
    Clock::time_point begin_;
  };

  /// Measures a device stream's work between construction and end(), in the window, by the device's clock. It does
  /// nothing without a profile, without end(), and on devices without streams.
  class StreamSpan {
   public:
    /// `track` is the stream's name; its first name counts.
    StreamSpan(Profile* profile, Device& device, DeviceStream stream, const char* track, const Work& work);
    /// Measures a phase on the compute thread's stream. Compute thread.
    StreamSpan(Profile* profile, Phase phase);
    StreamSpan(const StreamSpan&) = delete;
    /// Ends the stream's work.
    void end();

   private:
    friend class Profile;
    Profile* profile_ = nullptr;
    Device* device_ = nullptr;
    DeviceStream stream_ = DeviceStream::compute;
    const char* track_ = nullptr;
    Work work_ = {};
    Clock::time_point asked_;
    std::unique_ptr<StreamPoint> begin_, end_;

    void begin(Profile* profile, Device& device, DeviceStream stream, const char* track, const Work& work);
  };

  /// Records the fill of a queue, in the window. `name` is a literal, or flight_name(). Any thread.
  void count(const char* name, std::size_t fill) {
    if (recording()) record_count(name, fill);
  }

  /// Counts part of the last backward pass as waiting for other processes.
  void waited_for_others(double duration_s);

  /// Returns the seconds in each phase since the last begin_line(), without other phases within it.
  const std::array<double, phases>& line_s() const { return line_s_; }
  /// Begins the next train line.
  void begin_line() { line_s_ = {}; }

  /// One operation of the net in the window, with its layer; `own_s` excludes operations that it called.
  struct Operation {
    std::string name, layer;  ///< empty layer: outside the passes
    bool backward = false;
    Clock::time_point begin, end;
    double own_s = 0;
  };
  void add(const Operation& operation);

  /// The work of a thread or a device stream over a span of time.
  struct Event {
    std::string name, category, layer = {};
    bool on_device = false;
    int thread = 0;                              ///< the system's number; for a stream, its place in streams(), from 0
    std::int64_t begin_ns = 0, duration_ns = 0;  ///< times since the profile's beginning
    std::uint64_t iteration = 0;                 ///< 0: unknown
    BatchPlace batch = {};
  };
  /// The fill of a queue from a moment on.
  struct Count {
    const char* name;
    std::int64_t at_ns;
    std::size_t fill;
  };
  struct Cost {
    std::uint64_t calls = 0;
    double forward_s = 0, backward_s = 0;
    double sum_s() const { return forward_s + backward_s; }
  };

  // The results, after finish().
  const Durations& of(Phase phase) const { return phases_[static_cast<std::size_t>(phase)]; }
  /// These iterations exclude the window, where measuring takes time.
  std::uint64_t iterations() const { return measured_.iterations; }
  double wall_s() const { return measured_.wall_s; }
  std::uint64_t window_first() const { return window_.first; }
  std::uint64_t window_last() const { return window_.last; }
  std::uint64_t recorded() const { return measured_.recorded; }  ///< number of iterations of the window
  /// The costs are by name. An operation's time excludes operations that it calls.
  const std::map<std::string, Cost>& operations() const { return operations_; }
  const std::map<std::string, Cost>& layers() const { return layers_; }
  /// Returns copies, since a loader that runs on may still add events.
  std::vector<Event> events() const;
  std::vector<Count> counts() const;
  std::map<int, std::string> threads() const;
  std::vector<std::string> streams() const;
  /// Returns the device whose streams were timed; empty if there is none.
  const std::string& device() const { return timed_.name; }

 private:
  friend class StreamSpan;
  struct StreamWork {  // read once the device is done with it
    std::string name;
    int stream;
    std::int64_t asked_ns;
    std::unique_ptr<StreamPoint> begin, end;
    std::uint64_t iteration;
    BatchPlace batch;
  };

  void leave(Phase phase, Clock::time_point begin, Clock::time_point end, double own_s);
  void record(Event event, Clock::time_point begin, Clock::time_point end);
  void record_count(const char* name, std::size_t fill);
  std::int64_t ns_of(Clock::time_point time) const;
  Work work_of(Phase phase) const;
  bool times_streams() const { return recording_.load(std::memory_order_acquire) && timed_.origin; }
  void set_origin();
  void add(StreamSpan& span);
  void read_streams();
  void count_wall();

  static constexpr std::size_t most_events_ = 500'000;  // limit for each kind; about 70 MB of trace.json
  // The iterations that are recorded. 0: none.
  struct Window {
    std::uint64_t first = 0, last = 0;
  };
  // The iterations that were measured, and their time.
  struct Measured {
    Clock::time_point start = Clock::now(), since = start;
    std::uint64_t iteration = 0, iterations = 0, recorded = 0;
    double wall_s = 0;
  };
  // The device whose streams are timed.
  struct Timed {
    Device* device = nullptr;
    std::unique_ptr<StreamPoint> origin;  // start of the streams' times; made once, before recording_
    std::int64_t origin_ns = 0;
    std::string name;
  };

  Window window_;
  Measured measured_;
  BatchPlace batch_;
  At* innermost_ = nullptr;
  std::array<Durations, phases> phases_;
  std::array<double, phases> line_s_{};
  std::map<std::string, Cost> operations_, layers_;
  Timed timed_;
  std::atomic<bool> recording_{false};
  mutable Mutex mutex_;
  std::vector<Event> events_ FT_GUARDED_BY(mutex_);
  std::vector<Count> counts_ FT_GUARDED_BY(mutex_);
  std::map<int, std::string> threads_ FT_GUARDED_BY(mutex_);  // keyed by the system's numbers
  std::vector<StreamWork> stream_works_ FT_GUARDED_BY(mutex_);
  std::vector<std::pair<std::uintptr_t, std::string>> streams_ FT_GUARDED_BY(mutex_);
};

}  // namespace flowtrain
